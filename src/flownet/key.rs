//! Canonical keys R1 S1 A1 N1 J1 (contract 10 C).
