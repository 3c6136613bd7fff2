//! Reports that count how many users would fit, which takes longer than a frame.

use super::experts::with_inputs;
use super::{Report, Request, Verdict, report};
use crate::engine::{Memo, setting};

/// The report of a request with the most users counted to the one (`max_batch`).
///
/// # Errors
/// A setting that does not exist or has a value of the wrong kind.
pub fn with_users(request: &Request<'_>, memo: &Memo) -> Result<Report, setting::Error> {
    let mut report = report(request, memo)?;
    // How far a plan can go that is known by half cannot be told.
    if report.verdict != Verdict::Refused && !report.lower_bound {
        let users = with_inputs(request, memo, |inputs| request.engine.most_users(inputs));
        report.derived.max_batch = users.map(|users| users.most);
        report.derived.max_batch_on_gpus = users.and_then(|users| users.on_gpus);
        report.derived.max_batch_tokens_each = users.map(|users| users.tokens_each);
    }
    Ok(report)
}
