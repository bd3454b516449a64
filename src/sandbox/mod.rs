//! An honest local stand-in for the kintone REST API, strict by the verified facts KTB-nn. Shares no code with the client.
