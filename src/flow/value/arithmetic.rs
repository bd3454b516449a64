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
