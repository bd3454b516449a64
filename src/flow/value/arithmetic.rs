//! The arithmetic operators (LNG-46): IEEE binary64 without rounding; a divisor of 0 gives NaN.

/// One of `+ - * / %`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

impl Arithmetic {
    /// Applies the operator; `%` keeps the sign of the dividend and works on fractions.
    pub fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide | Self::Remainder if right == 0.0 => f64::NAN,
            Self::Divide => left / right,
            Self::Remainder => left % right,
        }
    }

    /// True when applying it to this right operand divides by zero (an error in UPDATE SET).
    pub fn divides_by_zero(self, right: f64) -> bool {
        matches!(self, Self::Divide | Self::Remainder) && right == 0.0
    }

    /// The operator as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::value::{parse_number, print_number};

    fn eval(left: &str, operator: Arithmetic, right: &str) -> String {
        print_number(operator.apply(parse_number(left), parse_number(right)))
    }

    #[test]
    fn vectors() {
        use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
        for (id, left, operator, right, expected) in [
            ("V070", "3000", Multiply, "1.1", "3300.0000000000005"),
            ("V071", "0.1", Add, "0.2", "0.30000000000000004"),
            ("V072", "9007199254740993", Add, "1", "9007199254740992"),
            ("V073", "7", Divide, "2", "3.5"),
            ("V075", "7", Remainder, "0", "NaN"),
            ("V076", "5.5", Remainder, "2", "1.5"),
            ("V079", "1000000", Multiply, "1000000000000000", "1e+21"),
            ("V080", "0.0000001", Multiply, "1", "1e-7"),
            ("V083", "", Add, "1", "1"),
            ("V084", "a", Multiply, "2", "NaN"),
            ("by 0", "7", Divide, "0", "NaN"),
            ("by -0", "7", Divide, "-0", "NaN"),
            ("by empty", "0", Divide, "", "NaN"),
            ("sign", "-7", Remainder, "3", "-1"),
            ("sign", "7", Remainder, "-3", "1"),
            ("zero", "-7", Remainder, "7", "0"),
            ("minus", "0.3", Subtract, "0.1", "0.19999999999999998"),
            ("overflow", "1e308", Multiply, "10", "Infinity"),
        ] {
            assert_eq!(eval(left, operator, right), expected, "{id}");
        }
        assert!(Divide.divides_by_zero(-0.0) && Remainder.divides_by_zero(0.0));
        assert!(!Multiply.divides_by_zero(0.0) && !Divide.divides_by_zero(f64::NAN));
    }
}
