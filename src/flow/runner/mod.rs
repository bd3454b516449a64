//! The program around the engine: command line, configuration, locks, log app, results.
