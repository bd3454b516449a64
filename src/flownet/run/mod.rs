//! The story of one start: ensure the Run, schedule its nodes, close.
