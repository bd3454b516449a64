//! The runner's capabilities and profile description: shape, snapshot, drift (RUN-05, RUN-11).
