//! The function table (LNG-70): names, aliases, argument counts, result modes.

use super::Eval::{Checked, Clock, Matching, Plain};
use super::ResultMode::{CastTarget, Number, NumberIfAll, Text};
use super::{
    Eval, Function, LiteralCheck, ResultMode, cast, choice, clock, date, format, number, regexp, text,
};

/// No greatest number of arguments.
const ANY: usize = usize::MAX;

const fn row(name: &'static str, args: (usize, usize), result: ResultMode, eval: Eval) -> Function {
    Function {
        name,
        aliases: &[],
        min_args: args.0,
        max_args: if args.1 == ANY { None } else { Some(args.1) },
        result,
        eval,
        literals: |_| Ok(()),
    }
}

const fn aliased(aliases: &'static [&'static str], row: Function) -> Function {
    Function { aliases, ..row }
}

const fn checked(literals: LiteralCheck, row: Function) -> Function {
    Function { literals, ..row }
}

/// Every scalar function.
pub static FUNCTIONS: [Function; 48] = [
    row("UPPER", (1, 1), Text, Plain(text::upper)),
    row("LOWER", (1, 1), Text, Plain(text::lower)),
    row("TRIM", (1, 1), Text, Plain(text::trim)),
    row("LTRIM", (1, 1), Text, Plain(text::ltrim)),
    row("RTRIM", (1, 1), Text, Plain(text::rtrim)),
    row("LENGTH", (1, 1), Number, Plain(text::length)),
    row("LENGTH_CHAR", (1, 1), Number, Plain(text::length_char)),
    aliased(
        &["SUBSTR"],
        row("SUBSTRING", (2, 3), Text, Plain(text::substring)),
    ),
    row("LEFT", (2, 2), Text, Plain(text::left)),
    row("RIGHT", (2, 2), Text, Plain(text::right)),
    row("INSTR", (2, 2), Number, Plain(text::instr)),
    row("LPAD", (2, 3), Text, Checked(text::lpad)),
    row("RPAD", (2, 3), Text, Checked(text::rpad)),
    row("CONCAT", (2, ANY), Text, Plain(text::concat)),
    row("REPLACE", (3, 3), Text, Checked(text::replace)),
    checked(
        text::check_translate,
        row("TRANSLATE", (3, 3), Text, Checked(text::translate)),
    ),
    row("COALESCE", (2, ANY), NumberIfAll, Plain(choice::coalesce)),
    row("ISNULL", (2, 2), NumberIfAll, Plain(choice::coalesce)),
    row("NULLIF", (2, 2), NumberIfAll, Plain(choice::nullif)),
    row("GREATEST", (2, ANY), NumberIfAll, Plain(choice::greatest)),
    row("LEAST", (2, ANY), NumberIfAll, Plain(choice::least)),
    checked(
        regexp::check_match,
        row("REGEXP_LIKE", (2, 3), Text, Matching(regexp::like)),
    ),
    checked(
        regexp::check_match,
        row("REGEXP_SUBSTR", (2, 3), Text, Matching(regexp::substr)),
    ),
    checked(
        regexp::check_replace,
        row("REGEXP_REPLACE", (3, 5), Text, Matching(regexp::replace)),
    ),
    row("ROUND", (1, 2), Number, Plain(number::round)),
    row("FLOOR", (1, 2), Number, Plain(number::floor)),
    aliased(&["CEILING"], row("CEIL", (1, 2), Number, Plain(number::ceil))),
    aliased(
        &["TRUNC"],
        row("TRUNCATE", (1, 2), Number, Plain(number::truncate)),
    ),
    row("ABS", (1, 1), Number, Plain(number::abs)),
    row("MOD", (2, 2), Number, Plain(number::modulo)),
    aliased(&["POW"], row("POWER", (2, 2), Number, Plain(number::power))),
    row("SQRT", (1, 1), Number, Plain(number::sqrt)),
    checked(
        format::check,
        row("FORMAT", (2, 2), Text, Checked(format::format)),
    ),
    aliased(
        &["CONVERT"],
        checked(cast::check, row("CAST", (2, 2), CastTarget, Checked(cast::cast))),
    ),
    row("YEAR", (1, 1), Number, Plain(date::year)),
    row("MONTH", (1, 1), Number, Plain(date::month)),
    row("DAY", (1, 1), Number, Plain(date::day)),
    row("DAYOFWEEK", (1, 1), Number, Plain(date::day_of_week)),
    row("QUARTER", (1, 1), Number, Plain(date::quarter)),
    row("WEEK", (1, 1), Number, Plain(date::week)),
    row("DATE_FORMAT", (2, 2), Text, Plain(date::date_format)),
    row("DATEDIFF", (2, 2), Number, Plain(date::datediff)),
    checked(
        date::check_date_add,
        row("DATE_ADD", (3, 3), Text, Checked(date::date_add)),
    ),
    row("LAST_DAY", (1, 1), Text, Plain(date::last_day)),
    row("TODAY", (0, 0), Text, Clock(clock::today)),
    row("CURRENT_DATE", (0, 0), Text, Clock(clock::today)),
    row("NOW", (0, 0), Text, Clock(clock::now)),
    row("CURRENT_TIMESTAMP", (0, 0), Text, Clock(clock::now)),
];

/// Finds a function by its name or an alias, any case.
pub fn lookup(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| {
        function.name.eq_ignore_ascii_case(name)
            || function.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
    })
}
