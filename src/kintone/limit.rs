//! Every limit of the client in one place, so that none hides beside the code that enforces it.

use std::time::Duration;

/// Records that one read may return (KTB-43, KTB-172).
pub const READ_RECORDS: usize = 500;
/// Records that one write may carry (KTB-82, KTB-172).
pub const WRITE_RECORDS: usize = 100;
/// Records that one keyset read collects; more belong to [`each_page`](super::Client::each_page).
pub const KEYSET_RECORDS: usize = 100_000;
/// Inner requests of one bulkRequest (KTB-140).
pub const BULK_REQUESTS: usize = 20;
/// API tokens in one header (KTB-23).
pub const TOKENS: usize = 9;
/// Request target in bytes above which a read goes as POST with a method override; kintone ends at about 8 KB (KTB-13).
pub const TARGET_BYTES: usize = 4096;
/// Bytes of one JSON answer: 500 records of wide forms stay far below.
pub const ANSWER_BYTES: u64 = 64 << 20;
/// Bytes of an error answer that are looked at; a longer one is treated as cut.
pub const ERROR_BYTES: u64 = 1 << 20;
/// Bytes of one upload (kintone: 1 GB per file).
pub const UPLOAD_BYTES: usize = 1 << 30;
/// Bytes of the optional CA file.
pub const CA_FILE_BYTES: u64 = 1 << 20;
/// Bytes of a response head; also the size of each connection buffer.
pub const HEAD_BYTES: usize = 16 << 10;
/// Characters kept of one message that kintone sent.
pub const MESSAGE_CHARS: usize = 300;
/// Paths kept of a CB_VA01 answer.
pub const ERROR_PATHS: usize = 20;
/// Time to resolve, connect and finish the TLS handshake (D-03).
pub const CONNECT: Duration = Duration::from_secs(10);
/// Time for one whole request (D-03).
pub const REQUEST: Duration = Duration::from_mins(1);
/// Time for one upload or download (D-03).
pub const TRANSFER: Duration = Duration::from_mins(5);
/// Shortest time granted to a read near its deadline: less could not even finish a handshake.
pub const SHORTEST_REQUEST: Duration = Duration::from_secs(1);
/// Time that the renewal of a lease gets before a read gives up at its deadline.
pub const RENEWAL: Duration = Duration::from_secs(1);
/// Age up to which a read takes a connection from the pool.
pub const IDLE_FOR_READS: Duration = Duration::from_secs(15);
/// Age up to which a write takes a connection from the pool. Shorter than any usual idle time-out of a server: a write
/// sent into a connection that is just being closed has an unknown outcome.
pub const IDLE_FOR_WRITES: Duration = Duration::from_secs(2);
/// Idle connections kept by the control plane, whose heartbeat is a second thread.
pub const IDLE_CONNECTIONS: usize = 2;
/// TLS sessions kept for resumption.
pub const TLS_SESSIONS: usize = 8;
/// Attempts of a retried request (D-03).
pub const ATTEMPTS: u32 = 5;
/// Ceiling of the first back-off (D-03).
pub const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Ceiling of every back-off and of an honoured Retry-After (D-03).
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Longest time that any setting can ask for; keeps sums of instants and durations in range.
pub const ANY_WAIT: Duration = Duration::from_hours(24);
/// Slice of a wait between two looks at the stop flag.
pub const WAIT_SLICE: Duration = Duration::from_millis(100);
/// Requests per app and day of the standard course (KTB-171).
pub const DAILY_REQUESTS: u64 = 10_000;
