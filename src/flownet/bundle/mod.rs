//! Execution bundle: store-only zip and manifest (contract 10 D).
