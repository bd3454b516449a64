//! status: gather, derive, show (contract 50, 2-5).
