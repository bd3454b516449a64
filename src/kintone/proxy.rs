//! The proxy named by the environment: `HTTPS_PROXY` and `NO_PROXY` in either case (D-04).

use super::config::{BaseUrl, ConfigError, is_host, split_port};
use super::secret::Secret;
use crate::language;

/// A forward proxy that requests are tunnelled through with CONNECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The whole address: it may hold a password.
    url: Secret,
}

impl Proxy {
    /// Reads a proxy address, `http://[USER:PASSWORD@]HOST[:PORT]`; the scheme may be missing or `https`.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let fault = || {
            ConfigError::new(language::text(
                "HTTPS_PROXY must be http://[USER:PASSWORD@]HOST[:PORT]",
                "HTTPS_PROXY は http://[USER:PASSWORD@]HOST[:PORT] の形で指定してください",
            ))
        };
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        if !["http", "https"].iter().any(|s| scheme.eq_ignore_ascii_case(s)) {
            return Err(fault());
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (user, address) = authority
            .rsplit_once('@')
            .map_or((None, authority), |(user, address)| (Some(user), address));
        let (host, _) = split_port(address).ok_or_else(fault)?;
        let user_ok = user.is_none_or(|u| u.bytes().all(|b| b.is_ascii_graphic() && !b"/?#@".contains(&b)));
        if !is_host(host) || !user_ok {
            return Err(fault());
        }
        Ok(Self {
            url: Secret::new(format!("{}://{authority}", scheme.to_ascii_lowercase())),
        })
    }

    /// The proxy that the environment names for this domain, read with `lookup` (usually [`std::env::var`]).
    ///
    /// The lower-case name wins, an empty value means none, `http` and loopback domains are always reached directly.
    pub fn from_env(
        base: &BaseUrl,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, ConfigError> {
        let either = |lower: &str, upper: &str| lookup(lower).or_else(|| lookup(upper)).unwrap_or_default();
        let address = either("https_proxy", "HTTPS_PROXY");
        let address = address.trim();
        if address.is_empty() || !base.is_https() || bypassed(&either("no_proxy", "NO_PROXY"), base) {
            return Ok(None);
        }
        Self::parse(address).map(Some)
    }

    pub(super) fn url(&self) -> &str {
        self.url.expose()
    }
}

/// Whether `NO_PROXY` names the domain: `*`, a host, or a domain with or without a leading dot; each with an optional port.
fn bypassed(no_proxy: &str, base: &BaseUrl) -> bool {
    no_proxy
        .split([',', ' ', '\t'])
        .filter(|entry| !entry.is_empty())
        .any(|entry| {
            if entry == "*" {
                return true;
            }
            let (name, port) = split_port(entry).unwrap_or((entry, None));
            let name = name.strip_prefix('*').unwrap_or(name);
            let name = name.strip_prefix('.').unwrap_or(name).to_ascii_lowercase();
            let suffix = base.host().strip_suffix(name.as_str());
            !name.is_empty()
                && port.is_none_or(|p| p == base.port())
                && suffix.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(base: &str, vars: &[(&str, &str)]) -> Result<Option<String>, ConfigError> {
        let base = BaseUrl::parse(base).unwrap();
        let lookup = |name: &str| {
            vars.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, value)| (*value).to_owned())
        };
        Proxy::from_env(&base, lookup).map(|p| p.map(|p| p.url().to_owned()))
    }

    #[test]
    fn names_in_either_case() {
        let base = "https://dev.example.com";
        assert_eq!(chosen(base, &[]), Ok(None));
        assert_eq!(chosen(base, &[("HTTPS_PROXY", "")]), Ok(None));
        assert_eq!(
            chosen(base, &[("HTTPS_PROXY", "proxy:8080")]),
            Ok(Some("http://proxy:8080".into()))
        );
        assert_eq!(
            chosen(
                base,
                &[
                    ("HTTPS_PROXY", "http://a:1"),
                    ("https_proxy", "HTTP://u:p%40@b:2/")
                ]
            ),
            Ok(Some("http://u:p%40@b:2".into()))
        );
        assert_eq!(
            chosen("http://127.0.0.1:1", &[("HTTPS_PROXY", "http://a:1")]),
            Ok(None)
        );
    }

    #[test]
    fn bypass_rules() {
        for (no_proxy, direct) in [
            ("*", true),
            ("dev.example.com", true),
            ("DEV.example.com", true),
            ("example.com", true),
            (".example.com", true),
            ("*.example.com", true),
            ("com", true),
            ("other.org, example.com", true),
            ("other.org example.com", true),
            ("example.com:443", true),
            ("example.com:8443", false),
            ("ample.com", false),
            ("xample.com", false),
            ("dev.example.com.evil.org", false),
            ("other.org", false),
            (",,", false),
            (".", false),
            ("", false),
        ] {
            let vars = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", no_proxy)];
            assert_eq!(
                chosen("https://dev.example.com", &vars).unwrap().is_none(),
                direct,
                "{no_proxy}"
            );
        }
    }

    #[test]
    fn refuses_other_schemes_without_telling_the_password() {
        for bad in [
            "socks5://u:pw@h:1",
            "http://",
            "http://h:x",
            "http://u:pw@h/path",
            "http://u:p w@h",
            "http://u:pw@@h",
        ] {
            let error = Proxy::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("pw"), "{error}");
        }
        assert_eq!(
            format!("{:?}", Proxy::parse("http://u:pw@h:1").unwrap()),
            "Proxy { url: *** }"
        );
    }
}
