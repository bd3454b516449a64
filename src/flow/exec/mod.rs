//! Executing plans: scan, join, group, window, sort.
