//! The command line: one table of commands and flags, settings, output, exit codes.
