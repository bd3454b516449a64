//! ASSERT and EXIT: one comparison of constants and subqueries (LNG-15..18).

use crate::flow::plan::bind::{Binder, Env};
use crate::flow::plan::catalog::Catalog;
use crate::flow::plan::query::Parameter;
use crate::flow::plan::scalar::Scalar;
use crate::flow::sql::ast::{Comparison, Gate, GateTest};
use crate::flow::value::CompareMode;

use super::EngineError;
use super::eval::{Evaluator, NoRow};
use super::fill::{self, Filled};

/// A bound gate.
pub(super) struct BoundGate {
    left: Operand,
    tests: Vec<(Comparison, Operand)>,
    /// Subqueries of all operands.
    pub parameters: Vec<Parameter>,
}

struct Operand {
    value: Scalar,
    numeric: bool,
}

impl BoundGate {
    /// Binds the operands.
    pub fn bind(gate: &Gate, catalog: &mut dyn Catalog) -> Result<Self, EngineError> {
        let mut binder = Binder::new(catalog);
        let mut operand = |expr| {
            let (value, kind) = binder.value(&mut Env::constant(), expr)?;
            Ok::<_, EngineError>(Operand {
                value,
                numeric: kind.is_numeric(),
            })
        };
        let left = operand(&gate.left)?;
        let tests = match &gate.test {
            GateTest::Compare(operator, right) => vec![(*operator, operand(right)?)],
            GateTest::Between(low, high) => {
                vec![
                    (Comparison::GreaterOrEqual, operand(low)?),
                    (Comparison::LessOrEqual, operand(high)?),
                ]
            }
        };
        Ok(Self {
            left,
            tests,
            parameters: binder.take_parameters(),
        })
    }

    /// Whether the gate holds, and the left value that decided it.
    pub fn decide(
        &self,
        filled: &[Filled],
        evaluator: &mut Evaluator,
    ) -> Result<(bool, String), EngineError> {
        let left_value = fill::scalar(&self.left.value, filled);
        let left = evaluator.text(&left_value, &NoRow)?.into_owned();
        let mut holds = true;
        for (operator, right) in &self.tests {
            let value = fill::scalar(&right.value, filled);
            let right_text = evaluator.text(&value, &NoRow)?;
            // Numbers compare as numbers only if both sides are numbers by origin (LNG-16).
            let mode = if self.left.numeric && right.numeric {
                CompareMode::Number
            } else {
                CompareMode::Text
            };
            holds &= operator.accepts(mode.compare(&left, &right_text));
        }
        Ok((holds, left))
    }
}
