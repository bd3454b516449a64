//! The process boundary to the runner: argv, spawn, wait, result file (contract 10 F).
