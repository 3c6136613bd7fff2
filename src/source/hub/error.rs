//! Why a repository cannot be read, in words that say what to do.

/// What stood in the way of reading a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not the name of a repository.
    #[error("{reason}: {given}; write it as owner/name, owner/name@revision or owner/name:Q4_K_M")]
    Address {
        /// As given.
        given: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The environment names an endpoint that is none.
    #[error("HF_ENDPOINT must be a URL such as https://huggingface.co, not {given:?}")]
    Endpoint {
        /// As given.
        given: String,
    },
    /// The environment names a proxy that is none. Its value may hold a password and is not repeated.
    #[error(
        "{variable} does not hold the URL of a proxy; correct it, or unset it to connect without one"
    )]
    ProxyName {
        /// The variable.
        variable: &'static str,
    },
    /// A token that cannot be sent. Its value is not repeated.
    #[error("the token of {place} has characters that no token has; write it there again")]
    Token {
        /// Where it was found.
        place: String,
    },
    /// The environment forbids it.
    #[error(
        "{variable} is set, so nothing is read over the network; unset it to read this repository"
    )]
    Offline {
        /// The variable.
        variable: &'static str,
    },
    /// A token is missing.
    #[error(
        "{host} shows {repository} to nobody without a token: it is private, or there is no such repository; check the \
         name, and log in with `hf auth login` or set HF_TOKEN (no token was found in {looked})"
    )]
    NoToken {
        /// Who refused.
        host: String,
        /// "owner/name".
        repository: String,
        /// Where a token was looked for.
        looked: String,
    },
    /// The token is wrong.
    #[error(
        "{host} does not accept the token of {place} for {repository}; it may have expired: make a new one in the \
         account's settings, or check the name"
    )]
    WrongToken {
        /// Who refused.
        host: String,
        /// "owner/name".
        repository: String,
        /// Where the token was found.
        place: String,
    },
    /// The licence must be accepted first.
    #[error(
        "{repository} is gated: accept its licence on {page} with an account, then try again with a token of that \
         account ({token})"
    )]
    Gated {
        /// "owner/name".
        repository: String,
        /// Its page.
        page: String,
        /// Which token was used.
        token: String,
    },
    /// Refused for another reason.
    #[error(
        "{host} refuses access to {repository} (403); the token may lack the right to read it ({token})"
    )]
    Forbidden {
        /// Who refused.
        host: String,
        /// "owner/name".
        repository: String,
        /// Which token was used.
        token: String,
    },
    /// There is no such thing.
    #[error("{host} has no {what}; check the spelling{hint}")]
    NotFound {
        /// Who said so.
        host: String,
        /// What was asked for.
        what: String,
        /// A further possibility.
        hint: &'static str,
    },
    /// Asked too often.
    #[error("{host} was asked too often (429); try again {when}{hint}")]
    TooMany {
        /// Who said so.
        host: String,
        /// When it takes questions again.
        when: String,
        /// A way to be allowed more.
        hint: &'static str,
    },
    /// The server's own trouble.
    #[error("{host} has trouble of its own ({status}); try again in a few minutes")]
    Server {
        /// Who.
        host: String,
        /// Status of HTTP.
        status: u16,
    },
    /// Any other status.
    #[error(
        "{host} answered {status} when asked for {what}; this is no Hugging Face compatible endpoint, or one that \
             changed"
    )]
    Status {
        /// Who.
        host: String,
        /// Status of HTTP.
        status: u16,
        /// What was asked for.
        what: String,
    },
    /// The name has no address.
    #[error(
        "no address is known for {host}; check the network, or set a proxy (HTTPS_PROXY) or a mirror (HF_ENDPOINT)"
    )]
    Name {
        /// Whose address.
        host: String,
    },
    /// No connection.
    #[error(
        "could not connect to {host} ({reason}); check the network, or set a proxy (HTTPS_PROXY) or a mirror (HF_ENDPOINT)"
    )]
    Connect {
        /// To whom.
        host: String,
        /// The system's reason.
        reason: String,
    },
    /// No trust.
    #[error(
        "the connection to {host} is not secure ({reason}); check the clock, and whether a proxy on the way has a \
             certificate that this system does not know"
    )]
    Tls {
        /// To whom.
        host: String,
        /// What is wrong.
        reason: String,
    },
    /// The proxy refused.
    #[error(
        "the proxy of {variable} would not connect to {host} ({reason}); check the proxy, or name {host} in NO_PROXY"
    )]
    Proxy {
        /// Where the proxy is named.
        variable: &'static str,
        /// To whom.
        host: String,
        /// The proxy's reason.
        reason: String,
    },
    /// Too slow.
    #[error("{host} {what} within {seconds} s; try again, or set a mirror (HF_ENDPOINT)")]
    Timeout {
        /// Who.
        host: String,
        /// "did not answer" or "did not send everything".
        what: &'static str,
        /// How long was waited.
        seconds: u64,
    },
    /// The user does not want it any more.
    #[error("cancelled")]
    Cancelled,
    /// The connection ended early.
    #[error("{host} broke off after {got} of {expected} bytes of {what}; try again")]
    CutOff {
        /// Who.
        host: String,
        /// Of what.
        what: String,
        /// Bytes that came.
        got: u64,
        /// Bytes that were to come.
        expected: u64,
    },
    /// A server that does not do what it says.
    #[error(
        "{host} answered wrongly when asked for a part of {what}: {reason}; it, or a proxy on the way, does not \
             serve parts of files"
    )]
    Range {
        /// Who.
        host: String,
        /// Of what.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// More than anything of its kind.
    #[error("{what} is larger than the {limit} bytes that are read of it at most")]
    TooLarge {
        /// What.
        what: String,
        /// Most bytes.
        limit: u64,
    },
    /// Not what was asked for.
    #[error(
        "{host} answered with {reason} when asked for {what}; this is no Hugging Face compatible endpoint, or a login \
             page on the way"
    )]
    Answer {
        /// Who.
        host: String,
        /// What was asked for.
        what: String,
        /// What it is instead.
        reason: String,
    },
    /// A redirection that is not followed.
    #[error("{host} redirects {reason}")]
    Redirect {
        /// Who.
        host: String,
        /// Where, and why that is not followed.
        reason: String,
    },
    /// Files there, but none of a model.
    #[error("{repository} has no model files (GGUF, safetensors or PyTorch)")]
    NoModel {
        /// "owner/name".
        repository: String,
    },
    /// Several models, and none is named.
    #[error("{repository} has several models; add one of these after a colon: {choices}")]
    Several {
        /// "owner/name".
        repository: String,
        /// The choices.
        choices: String,
    },
    /// A name that fits none.
    #[error("{repository} has no {wanted}; it has {choices}")]
    NoChoice {
        /// "owner/name".
        repository: String,
        /// As given.
        wanted: String,
        /// The choices.
        choices: String,
    },
    /// A quantization that several files have.
    #[error("{repository} has {count} files of {wanted}; name one of them: {choices}")]
    SeveralOfOne {
        /// "owner/name".
        repository: String,
        /// How many.
        count: usize,
        /// As given.
        wanted: String,
        /// Those.
        choices: String,
    },
    /// A quantization that only what comes with a model has.
    #[error(
        "{repository} has no model of {wanted}, only {file}, which comes with one; it has {choices}"
    )]
    OfBeside {
        /// "owner/name".
        repository: String,
        /// As given.
        wanted: String,
        /// What has it.
        file: String,
        /// The models.
        choices: String,
    },
    /// Not read before, and not now.
    #[error(
        "{what} is not in the cache: press Fetch in the window, or run `plimsoll inspect {repository}`, which reads its \
         headers over the network"
    )]
    NotKept {
        /// "owner/name".
        repository: String,
        /// What is missing.
        what: String,
    },
    /// Read, and no model.
    #[error("{0}")]
    Model(String),
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        Self::other(error)
    }
}
