//! Scalar functions (LNG-70..92, LNG-63): one table says what exists, how many arguments each takes and
//! whether its result is a number; the code behind each row lives in the file of its family.

mod cast;
mod choice;
mod clock;
mod context;
mod date;
mod error;
mod format;
mod number;
mod regexp;
mod table;
mod text;
mod units;

#[cfg(test)]
mod tests;

pub use cast::CastType;
pub use context::Context;
pub use error::{FunctionError, Refusal};
pub use table::{FUNCTIONS, lookup};

/// No function returns a longer text; a kintone field holds far less.
pub const MAX_RESULT_BYTES: usize = 10 * 1024 * 1024;

/// How the result of a function compares (LNG-45, LNG-70).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultMode {
    /// Text mode.
    Text,
    /// Number mode.
    Number,
    /// Number mode if and only if all arguments are numeric.
    NumberIfAll,
    /// As the target type, the last argument, says.
    CastTarget,
}

/// One row of the function table.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The name as messages show it.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// Least number of arguments.
    pub min_args: usize,
    /// Greatest number of arguments; `None` = any.
    pub max_args: Option<usize>,
    /// How the result compares.
    pub result: ResultMode,
    eval: Eval,
    literals: LiteralCheck,
}

/// Looks at the arguments that are literals (the others are `None`) and refuses what no row could make right.
type LiteralCheck = fn(&[Option<&str>]) -> Result<(), Refusal>;

/// The code of a function, by what it needs.
#[derive(Clone, Copy, Debug)]
enum Eval {
    /// Any texts give a result.
    Plain(fn(&[&str], &mut String)),
    /// Some arguments are refused.
    Checked(fn(&[&str], &mut String) -> Result<(), Refusal>),
    /// No arguments, only the wall clock.
    Clock(fn(&Context, &mut String)),
    /// Regular expressions, compiled in the context.
    Matching(fn(&[&str], &mut Context, &mut String) -> Result<(), Refusal>),
}

impl Function {
    /// Checks an argument count before anything is read (LNG-70).
    ///
    /// # Errors
    /// [`FunctionError`] naming the function and the counts it takes.
    pub fn check_count(&self, given: usize) -> Result<(), FunctionError> {
        let fits = given >= self.min_args && self.max_args.is_none_or(|max| given <= max);
        if fits {
            Ok(())
        } else {
            Err(FunctionError::new(
                self.name,
                Refusal::WrongCount {
                    given,
                    min: self.min_args,
                    max: self.max_args,
                },
            ))
        }
    }

    /// Checks everything that is known before the first row: the count, and literal units, types, patterns, flags.
    /// `None` stands for an argument that is no literal.
    ///
    /// # Errors
    /// [`FunctionError`] that [`Function::call`] would give for every row.
    pub fn check(&self, args: &[Option<&str>]) -> Result<(), FunctionError> {
        self.check_count(args.len())?;
        (self.literals)(args).map_err(|refusal| FunctionError::new(self.name, refusal))
    }

    /// True when the result is a number, given which arguments are (LNG-70); `cast_type` is the target of CAST.
    pub fn is_numeric(&self, arguments: &[bool], cast_type: Option<CastType>) -> bool {
        match self.result {
            ResultMode::Text => false,
            ResultMode::Number => true,
            ResultMode::NumberIfAll => arguments.iter().all(|numeric| *numeric),
            ResultMode::CastTarget => cast_type == Some(CastType::Number),
        }
    }

    /// Evaluates the function and appends the result to `out`.
    ///
    /// # Errors
    /// [`FunctionError`] for a wrong count, an argument the function refuses, or a result over a limit; `out` then
    /// holds what it held before.
    pub fn call(&self, args: &[&str], context: &mut Context, out: &mut String) -> Result<(), FunctionError> {
        self.check_count(args.len())?;
        let start = out.len();
        let mut result = Ok(());
        match self.eval {
            Eval::Plain(eval) => eval(args, out),
            Eval::Checked(eval) => result = eval(args, out),
            Eval::Clock(eval) => eval(context, out),
            Eval::Matching(eval) => result = eval(args, context, out),
        }
        if out.len() - start > MAX_RESULT_BYTES {
            result = Err(Refusal::TooLong);
        }
        result.map_err(|refusal| {
            out.truncate(start);
            FunctionError::new(self.name, refusal)
        })
    }
}
