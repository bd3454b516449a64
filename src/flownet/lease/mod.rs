//! The Network lock: owner identity, acquire, heartbeat, fenced commit, release (D-01).
