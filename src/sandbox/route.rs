//! Which API a method and path mean.

/// The APIs of the stand-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each name says the API it stands for, see ENDPOINTS")]
pub enum Endpoint {
    GetRecord,
    AddRecord,
    UpdateRecord,
    GetRecords,
    AddRecords,
    UpdateRecords,
    DeleteRecords,
    RecordStatus,
    Bulk,
    CreateCursor,
    NextCursor,
    DeleteCursor,
    Upload,
    Download,
    Fields,
    PreviewFields,
    AddPreviewFields,
    CreateApp,
    Deploy,
    DeployStatus,
    App,
    Apps,
    Settings,
    ProcessStatus,
}

const ENDPOINTS: [(&str, &str, Endpoint); 26] = [
    ("GET", "record.json", Endpoint::GetRecord),
    ("POST", "record.json", Endpoint::AddRecord),
    ("PUT", "record.json", Endpoint::UpdateRecord),
    ("GET", "records.json", Endpoint::GetRecords),
    ("POST", "records.json", Endpoint::AddRecords),
    ("PUT", "records.json", Endpoint::UpdateRecords),
    ("DELETE", "records.json", Endpoint::DeleteRecords),
    ("PUT", "record/status.json", Endpoint::RecordStatus),
    ("PUT", "records/status.json", Endpoint::RecordStatus),
    ("PUT", "record/assignees.json", Endpoint::RecordStatus),
    ("POST", "bulkRequest.json", Endpoint::Bulk),
    ("POST", "records/cursor.json", Endpoint::CreateCursor),
    ("GET", "records/cursor.json", Endpoint::NextCursor),
    ("DELETE", "records/cursor.json", Endpoint::DeleteCursor),
    ("POST", "file.json", Endpoint::Upload),
    ("GET", "file.json", Endpoint::Download),
    ("GET", "app/form/fields.json", Endpoint::Fields),
    ("GET", "preview/app/form/fields.json", Endpoint::PreviewFields),
    ("POST", "preview/app/form/fields.json", Endpoint::AddPreviewFields),
    ("POST", "preview/app.json", Endpoint::CreateApp),
    ("POST", "preview/app/deploy.json", Endpoint::Deploy),
    ("GET", "preview/app/deploy.json", Endpoint::DeployStatus),
    ("GET", "app.json", Endpoint::App),
    ("GET", "apps.json", Endpoint::Apps),
    ("GET", "app/settings.json", Endpoint::Settings),
    ("GET", "app/status.json", Endpoint::ProcessStatus),
];

impl Endpoint {
    /// The API of a method and of the path after `/k/v1/` or `/k/guest/ID/v1/`.
    pub fn find(method: &str, path: &str) -> Option<Self> {
        ENDPOINTS
            .iter()
            .find(|(known, name, _)| *known == method && *name == path)
            .map(|(.., endpoint)| *endpoint)
    }
}

/// Splits an API path into guest space id and the rest after `v1/`.
pub fn split_path(path: &str) -> Option<(Option<u64>, &str)> {
    let path = path.strip_prefix("/k/")?;
    if let Some(rest) = path.strip_prefix("v1/") {
        return Some((None, rest));
    }
    let (space, rest) = path.strip_prefix("guest/")?.split_once('/')?;
    Some((Some(space.parse().ok()?), rest.strip_prefix("v1/")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        assert_eq!(
            split_path("/k/v1/app/form/fields.json"),
            Some((None, "app/form/fields.json"))
        );
        assert_eq!(
            split_path("/k/guest/5/v1/record.json"),
            Some((Some(5), "record.json"))
        );
        for path in [
            "/",
            "/k/v2/record.json",
            "/k/guest/x/v1/record.json",
            "/k/guest/5/record.json",
        ] {
            assert_eq!(split_path(path), None, "{path}");
        }
        assert_eq!(
            Endpoint::find("DELETE", "records.json"),
            Some(Endpoint::DeleteRecords)
        );
        assert_eq!(Endpoint::find("DELETE", "record.json"), None);
    }
}
