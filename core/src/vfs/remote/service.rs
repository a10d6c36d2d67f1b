//! Object store services: which one a URL names, and where its credentials come from.

use std::sync::Arc;

use object_store::ObjectStoreScheme;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as S3};
use object_store::azure::{AzureConfigKey as Azure, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey as Google};
use reqwest::Url;

use super::client::Connector;
use super::object::PagedStore;
use crate::error::{Error, Result};
use crate::vfs::redact;

/// How the library's error texts name the HTTP statuses for missing or wrong credentials.
const REFUSALS: [&str; 2] = ["401 Unauthorized", "403 Forbidden"];

/// The credentials found when a store was opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Credentials {
    /// The environment variables that provide credentials, and the one that disables them.
    advice: &'static str,
    /// Whether the environment sets any of these variables.
    named: bool,
}

impl Credentials {
    const S3: &'static str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_REGION if it is not \
                              us-east-1; AWS_SKIP_SIGNATURE=true reads public data without a key";
    const GOOGLE: &'static str = "set GOOGLE_APPLICATION_CREDENTIALS to the file with the key; \
                                  GOOGLE_SKIP_SIGNATURE=true reads public data without a key";
    const AZURE: &'static str = "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or \
                                 AZURE_STORAGE_SAS_TOKEN; AZURE_SKIP_SIGNATURE=true reads public data without a key";

    fn new(advice: &'static str, settings: &[Option<String>]) -> Self {
        // A variable that is set to false counts as a setting too.
        let named = settings.iter().flatten().any(|value| value != "false");
        Self { advice, named }
    }

    /// Adds which variables to set to an error, if the service refused the request or no variable is set. In the second
    /// case the machine may not provide credentials either.
    pub(super) fn advise(self, error: Error) -> Error {
        let Error::Io { path, source } = error else {
            return error;
        };
        let told = source.to_string();
        // The library classifies refusals of requests for one object. For listings only the text shows them.
        let refused = matches!(
            source.downcast_ref(),
            Some(object_store::Error::Unauthenticated { .. } | object_store::Error::PermissionDenied { .. })
        ) || REFUSALS.iter().any(|status| told.contains(status));
        if refused || !self.named {
            Error::io(
                path,
                format!("{}; {}", told.trim_end().trim_end_matches(':'), self.advice),
            )
        } else {
            Error::Io { path, source }
        }
    }
}

/// Opens the store that a URL names. Returns it with the prefix in it and the credentials found.
///
/// # Errors
/// `Unsupported` for an unknown scheme; `InvalidArgument` if settings are missing.
pub(super) fn open(url: &str) -> Result<(Arc<dyn PagedStore>, String, Credentials)> {
    let parsed = Url::parse(url).map_err(|e| Error::invalid(format!("{}: {e}", redact(url))))?;
    let unknown = || {
        Error::Unsupported(format!(
            "{}: no such store; write s3://bucket/path, gs://, az://, http:// or https://, or a path",
            redact(url)
        ))
    };
    let (scheme, prefix) = ObjectStoreScheme::parse(&parsed).map_err(|_| unknown())?;
    let (store, credentials) = match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = AmazonS3Builder::from_env().with_url(url).with_http_connector(Connector);
            let found = [
                S3::AccessKeyId,
                S3::SecretAccessKey,
                S3::WebIdentityTokenFile,
                S3::ContainerCredentialsRelativeUri,
                S3::ContainerCredentialsFullUri,
                S3::SkipSignature,
            ];
            let found = Credentials::new(Credentials::S3, &found.map(|key| builder.get_config_value(&key)));
            (built(url, builder.build(), found)?, found)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::from_env()
                .with_url(url)
                .with_http_connector(Connector);
            let found = [
                Google::ServiceAccount,
                Google::ServiceAccountKey,
                Google::ApplicationCredentials,
                Google::BearerToken,
                Google::SkipSignature,
            ];
            let found = Credentials::new(Credentials::GOOGLE, &found.map(|key| builder.get_config_value(&key)));
            (built(url, builder.build(), found)?, found)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::from_env()
                .with_url(url)
                .with_http_connector(Connector);
            let found = [
                Azure::AccessKey,
                Azure::SasKey,
                Azure::Token,
                Azure::ClientId,
                Azure::FederatedTokenFile,
                Azure::UseAzureCli,
                Azure::UseEmulator,
                Azure::SkipSignature,
            ];
            let found = Credentials::new(Credentials::AZURE, &found.map(|key| builder.get_config_value(&key)));
            (built(url, builder.build(), found)?, found)
        }
        _ => return Err(unknown()),
    };
    Ok((store, prefix.to_string(), credentials))
}

/// Builds the store from the settings.
fn built<S: PagedStore>(
    url: &str,
    store: object_store::Result<S>,
    credentials: Credentials,
) -> Result<Arc<dyn PagedStore>> {
    match store {
        Ok(store) => Ok(Arc::new(store)),
        Err(e) => Err(Error::invalid(format!("{}: {e}; {}", redact(url), credentials.advice))),
    }
}
