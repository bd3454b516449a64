//! The operator commands as black boxes: every precondition of contract 50, every write with lost answers, refusals and
//! rivals. Records are looked at through the stand-in's own window, never through our client.

#[path = "../support/network.rs"]
mod network;
#[path = "../support/operator.rs"]
mod operator;
#[path = "../support/sandbox.rs"]
mod sandbox;

mod archive;
mod damaged;
mod desk;
mod edited;
mod hold;
mod job_unlock;
mod next_steps;
mod printed_lines;
mod resolve;
mod takeover;
mod unlock;
