//! Harness: reproducible chance, and the numbers that a person sets in the environment.
#![allow(dead_code, reason = "every test binary uses another part")]

/// A small generator (xorshift): reproducible, no crate needed.
pub struct Random(pub u64);

impl Random {
    /// The chance of one round: of its own, so that it can be repeated without the rounds before it.
    pub fn of_round(seed: u64, round: u64) -> Self {
        // Neighbouring numbers must not give neighbouring chances; xorshift must not begin with zero.
        let mut random = Self((seed ^ round.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1);
        for _ in 0..8 {
            random.below(1);
        }
        random
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A number from the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}
