//! Canonical JSON text and its SHA-256 (RUN-10).
