//! Two business apps on which the example jobs of kSQL Flow run: orders (受注) over six months, the last of them with bad
//! data for an ASSERT gate to stop at, and the customer master (顧客マスタ) that a monthly job updates.
use jiff::ToSpan as _;
use jiff::civil::Date;
use serde_json::{Map, Value as Json, json};

use super::system::properties;
use crate::sandbox::app::form::{Form, Place};
use crate::sandbox::record::Record;
use crate::sandbox::value::datetime::date_text;
use crate::sandbox::value::{Text, Value};

/// First month with orders.
pub const FIRST_MONTH: Date = jiff::civil::date(2026, 5, 1);
/// Months with orders; the last one holds the bad data.
pub const MONTHS: u64 = 6;
/// In the bad month every so many orders one is a test order, and one has a negative amount.
const BAD_EVERY: u64 = 50;

/// Form of the orders app. Its own `ステータス` field needs that code, so the system field is renamed.
pub fn orders_form() -> Map<String, Json> {
    let mut form = properties(&[
        ("顧客コード", "顧客コード", "R", "T"),
        ("受注日", "受注日", "R", "d"),
        ("ステータス", "ステータス", "", "S:見積,受注完了,取消"),
        ("金額", "金額", "", "N"),
        ("数量", "数量", "", "N"),
        ("備考", "備考", "", "M"),
        ("テスト区分", "テスト区分", "", "C:テスト"),
    ]);
    form.insert("プロセス状態".to_owned(), json!({ "type": "STATUS" }));
    form
}

/// Form of the customer master.
pub fn customers_form() -> Map<String, Json> {
    properties(&[
        ("顧客コード", "顧客コード", "RU", "T"),
        ("顧客名", "顧客名", "", "T"),
        ("ランク", "ランク", "", "O:A,B,C"),
        ("当月受注件数", "当月受注件数", "", "N"),
        ("当月売上実績", "当月売上実績", "", "N"),
        ("最終集計日時", "最終集計日時", "", "D"),
    ])
}

/// SplitMix64: small, well mixed, the same numbers on every machine.
pub struct Numbers(u64);

impl Numbers {
    /// A sequence for a seed and a purpose.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ purpose.wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    /// The next number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

/// Generates records of one app.
pub struct Generator {
    form: Form,
    numbers: Numbers,
    /// Number of customers.
    pub customers: u64,
    /// Number of orders.
    pub orders: u64,
}

impl Generator {
    /// A generator; the error names a wrong definition.
    pub fn new(
        form: &Map<String, Json>,
        seed: u64,
        purpose: u64,
        customers: u64,
        orders: u64,
    ) -> Result<Self, String> {
        Ok(Self {
            form: Form::read(form)?,
            numbers: Numbers::new(seed, purpose),
            customers,
            orders,
        })
    }

    /// The form.
    pub fn form(&self) -> &Form {
        &self.form
    }

    fn record(&self, day: Date, values: &[(&str, Value)]) -> Record {
        let mut all = vec![Value::Empty; self.form.fields.len()];
        for (code, value) in values {
            if let Some(Place::Slot(slot)) = self.form.place(code) {
                all[slot] = value.clone();
            }
        }
        let days = (day - jiff::civil::date(1970, 1, 1)).get_days();
        let minute = days * 24 * 60;
        Record {
            revision: 1,
            created: minute,
            updated: minute,
            creator: 0,
            modifier: 0,
            values: all.into(),
        }
    }

    /// The n-th customer, from 1.
    pub fn customer(&mut self, number: u64) -> Record {
        let rank = ["A", "B", "C"][self.numbers.below(3) as usize];
        self.record(
            FIRST_MONTH,
            &[
                ("顧客コード", Value::text(&customer_code(number))),
                ("顧客名", Value::text(&format!("得意先{number:04}"))),
                ("ランク", Value::text(rank)),
            ],
        )
    }

    /// The n-th order, from 1; orders come in the order of their months.
    pub fn order(&mut self, number: u64) -> Record {
        let month = ((number - 1) * MONTHS / self.orders.max(1)).min(MONTHS - 1);
        let first = FIRST_MONTH
            .checked_add((month as i64).months())
            .unwrap_or(FIRST_MONTH);
        let days = self.numbers.below(first.days_in_month() as u64) as i64;
        let day = first.checked_add(days.days()).unwrap_or(first);
        let customer = self.numbers.below(self.customers) + 1;
        let status = match self.numbers.below(100) {
            0..=79 => "受注完了",
            80..=94 => "見積",
            _ => "取消",
        };
        let mut amount = (self.numbers.below(4_990) + 10) as i64 * 100;
        let quantity = self.numbers.below(20) + 1;
        let urgent = self.numbers.below(20) == 0;
        let bad = month == MONTHS - 1;
        let is_test = bad && number.is_multiple_of(BAD_EVERY);
        if bad && number % BAD_EVERY == BAD_EVERY / 2 {
            amount = -amount;
        }
        let test = if is_test {
            Value::list(vec![Text::new("テスト")])
        } else {
            Value::Empty
        };
        let note = if is_test {
            "テストデータ"
        } else if urgent {
            "急ぎ"
        } else {
            ""
        };
        self.record(
            day,
            &[
                ("顧客コード", Value::text(&customer_code(customer))),
                ("受注日", Value::text(&date_text(day))),
                ("ステータス", Value::text(status)),
                ("金額", Value::text(&amount.to_string())),
                ("数量", Value::text(&quantity.to_string())),
                ("備考", Value::text(note)),
                ("テスト区分", test),
            ],
        )
    }
}

fn customer_code(number: u64) -> String {
    format!("C{number:05}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(seed: u64) -> Vec<Record> {
        Generator::new(&orders_form(), seed, 1, 40, 600)
            .map(|mut generator| (1..=600).map(|number| generator.order(number)).collect())
            .unwrap_or_default()
    }

    #[test]
    fn the_same_seed_gives_the_same_orders() {
        assert_eq!(orders(7), orders(7));
        assert_ne!(orders(7), orders(8));
        assert_eq!(orders(7).len(), 600);
    }

    #[test]
    fn only_the_last_month_has_bad_data() {
        let generator = Generator::new(&orders_form(), 1, 1, 40, 600);
        let slot = |code: &str| {
            generator
                .as_ref()
                .ok()
                .and_then(|generator| match generator.form().place(code) {
                    Some(Place::Slot(slot)) => Some(slot),
                    _ => None,
                })
        };
        let (Some(day), Some(amount), Some(test)) = (slot("受注日"), slot("金額"), slot("テスト区分"))
        else {
            unreachable!("the form has these fields");
        };
        let mut bad = 0;
        for order in orders(1) {
            let is_bad = order.value(amount).as_text().starts_with('-') || !order.value(test).is_empty();
            bad += usize::from(is_bad);
            assert!(!is_bad || order.value(day).as_text().starts_with("2026-10"));
        }
        assert!(bad >= 4, "{bad}");
    }
}
