//! Number functions (LNG-83, LNG-84), all in binary64: `''` is 0, a text that is no number gives NaN.

use crate::flow::value::{Arithmetic, parse_number, power_of_ten, write_number};

pub(super) fn round(args: &[&str], out: &mut String) {
    scaled(args, half_up, out);
}

pub(super) fn floor(args: &[&str], out: &mut String) {
    scaled(args, f64::floor, out);
}

pub(super) fn ceil(args: &[&str], out: &mut String) {
    scaled(args, f64::ceil, out);
}

pub(super) fn truncate(args: &[&str], out: &mut String) {
    scaled(args, f64::trunc, out);
}

/// Half towards plus infinity: 2.5 is 3 and -2.5 is -2.
fn half_up(x: f64) -> f64 {
    let floor = x.floor();
    if x - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// `op(x * 10^d) / 10^d`; left of the point the exact powers 10, 100 … are used the other way round, so that the
/// result carries no noise of 0.1, 0.01 …
fn scaled(args: &[&str], op: fn(f64) -> f64, out: &mut String) {
    let x = parse_number(args[0]);
    let digits = args.get(1).map_or(0.0, |d| parse_number(d).trunc());
    let power = power_of_ten(digits.abs());
    let result = if digits < 0.0 {
        // 0 times the Infinity of too many digits must stay 0.
        let whole = op(x / power);
        if whole == 0.0 { whole } else { whole * power }
    } else if x.is_finite() && (x * power).is_infinite() {
        // So many decimals that the scaled value leaves binary64: x has none of them.
        x
    } else {
        op(x * power) / power
    };
    write_number(result, out);
}

pub(super) fn abs(args: &[&str], out: &mut String) {
    write_number(parse_number(args[0]).abs(), out);
}

pub(super) fn modulo(args: &[&str], out: &mut String) {
    let result = Arithmetic::Remainder.apply(parse_number(args[0]), parse_number(args[1]));
    write_number(result, out);
}

/// `POWER(a, b)`, correctly rounded where the platform is; ECMAScript leaves the last digit to the engine.
pub(super) fn power(args: &[&str], out: &mut String) {
    let (base, exponent) = (parse_number(args[0]), parse_number(args[1]));
    // IEEE pow(±1, ±Infinity) and pow(1, NaN) are 1, in ECMAScript they are NaN.
    let is_one = base.abs().total_cmp(&1.0).is_eq();
    let result = if exponent.is_nan() || (exponent.is_infinite() && is_one) {
        f64::NAN
    } else {
        base.powf(exponent)
    };
    write_number(result, out);
}

pub(super) fn sqrt(args: &[&str], out: &mut String) {
    write_number(parse_number(args[0]).sqrt(), out);
}
