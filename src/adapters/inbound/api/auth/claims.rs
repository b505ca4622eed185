//! What a token says, and whether that counts here and now. Every claim that is looked at must be of
//! its type: one that cannot be read is a reason to refuse, never one to look away.

use crate::adapters::inbound::api::auth::refusal::Refusal;
use crate::core::domain::ids::CustomerId;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::order_repository::Scope;
use serde::Deserialize;
use std::time::Duration;

/// How far our clock and the issuer's may differ.
const LEEWAY: Duration = Duration::from_secs(5);

/// A subject is stored with idempotency keys, so it must have an end.
const LONGEST_SUBJECT: usize = 255;

const OWN: &str = "orders";
const ANY: &str = "orders:any";
const REFUND: &str = "orders:refund";
const WEBHOOKS: &str = "webhooks";

/// Who asks, and what that person may see and do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) subject: String,
    pub(super) scope: Scope,
    pub(super) may_order: bool,
    pub(super) may_refund: bool,
    pub(super) may_be_told: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    sub: String,
    /// Seconds since the Unix epoch, perhaps with a fraction (RFC 7519).
    exp: f64,
    nbf: Option<f64>,
    iss: Option<String>,
    aud: Option<Words>,
    scope: Option<Words>,
}

/// One text, or several: a claim is written either way.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

/// Whose tokens count, and for whom they must have been made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedClaims {
    /// `AUTH_JWT_ISSUER`.
    pub issuer: Option<String>,
    /// `AUTH_JWT_AUDIENCE`.
    pub audience: Option<String>,
}

impl Claims {
    /// Who asks, and what that person may see.
    ///
    /// # Errors
    /// The token does not count, or allows nothing here.
    pub(super) fn grant(self, expected: &ExpectedClaims, now: Timestamp) -> Result<Grant, Refusal> {
        let from =
            self.nbf.map_or(Some(Timestamp::default()), moment).ok_or(Refusal::Unreadable)?;
        let until = moment(self.exp).ok_or(Refusal::Unreadable)?;
        if now >= until + LEEWAY {
            return Err(Refusal::Expired);
        }
        if now + LEEWAY < from {
            return Err(Refusal::NotYet);
        }
        if expected.issuer.is_some() && self.iss != expected.issuer {
            return Err(Refusal::Issuer);
        }
        if expected.audience.as_ref().is_some_and(|own| !self.is_for(own)) {
            return Err(Refusal::Audience);
        }
        if !(1..=LONGEST_SUBJECT).contains(&self.sub.len()) {
            return Err(Refusal::Subject);
        }
        let scope = self.granted_scope()?;
        let may_order = self.has(ANY) || self.has(OWN);
        let may_refund = self.has(ANY) || self.has(REFUND);
        let may_be_told = self.has(WEBHOOKS);
        Ok(Grant { subject: self.sub, scope, may_order, may_refund, may_be_told })
    }

    fn is_for(&self, own: &str) -> bool {
        match &self.aud {
            Some(Words::One(audience)) => audience == own,
            Some(Words::Several(all)) => all.iter().any(|audience| audience == own),
            None => false,
        }
    }

    fn has(&self, wanted: &str) -> bool {
        match &self.scope {
            Some(Words::One(all)) => all.split(' ').any(|scope| scope == wanted),
            Some(Words::Several(all)) => all.iter().any(|scope| scope == wanted),
            None => false,
        }
    }

    /// # Errors
    /// No scope of ours, or one for own orders and a subject that no customer can have.
    fn granted_scope(&self) -> Result<Scope, Refusal> {
        if self.has(ANY) {
            return Ok(Scope::Anyone);
        }
        if !self.has(OWN) && !self.has(WEBHOOKS) {
            return Err(Refusal::Scope);
        }
        customer_of(&self.sub).map(Scope::Only).ok_or(Refusal::NoCustomer)
    }
}

/// Stands before the two hexadecimal digits of a byte that a customer's id cannot have.
const ESCAPE: &str = "..";

/// The customer that a subject is. One that is no customer's id, such as `auth0|7` or an e-mail address, has
/// what it cannot have there written as `..` and two digits: `auth0..7C7`. A subject that looks like such a
/// writing is nobody's, so that no two subjects are one customer.
fn customer_of(subject: &str) -> Option<CustomerId> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let digit = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
    let escaped =
        |place: &[u8]| place.starts_with(ESCAPE.as_bytes()) && place[2..].iter().all(digit);
    if subject.as_bytes().windows(4).any(escaped) {
        return None;
    }
    let written: String =
        subject
            .bytes()
            .map(|byte| {
                if plain(byte) {
                    char::from(byte).to_string()
                } else {
                    format!("{ESCAPE}{byte:02X}")
                }
            })
            .collect();
    CustomerId::parse(&written).ok()
}

/// `None` for a number that is no moment.
fn moment(seconds: f64) -> Option<Timestamp> {
    let since_epoch = Duration::try_from_secs_f64(seconds).ok()?;
    i64::try_from(since_epoch.as_micros()).ok().map(Timestamp::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const NOW: i64 = 1_764_500_000;

    fn judged(claims: Value, expected: &ExpectedClaims) -> Result<(String, Scope), Refusal> {
        let claims: Claims = serde_json::from_value(claims).map_err(|_| Refusal::Unreadable)?;
        let granted = claims.grant(expected, Timestamp::from_micros(NOW * 1_000_000));
        granted.map(|grant| (grant.subject, grant.scope))
    }

    fn with(change: Value) -> Result<(String, Scope), Refusal> {
        let mut claims = json!({"sub": "c-1", "exp": NOW + 60, "scope": "orders"});
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        judged(claims, &ExpectedClaims::default())
    }

    #[test]
    fn a_token_counts_up_to_its_end_and_a_little_longer() {
        for (exp, counts) in [(60.0, true), (-4.9, true), (-5.0, false), (-3600.0, false)] {
            let judged = with(json!({"exp": 1_764_500_000.0 + exp}));
            assert_eq!(judged.is_ok(), counts, "{exp}");
        }
        for (nbf, counts) in [(0, true), (5, true), (6, false)] {
            assert_eq!(with(json!({"nbf": NOW + nbf})).is_ok(), counts, "{nbf}");
        }
        assert_eq!(with(json!({"exp": NOW - 5})), Err(Refusal::Expired));
        assert_eq!(with(json!({"nbf": NOW + 6})), Err(Refusal::NotYet));
    }

    #[test]
    fn a_claim_of_another_type_is_refused_and_not_passed_over() {
        for change in [
            json!({"exp": null}),
            json!({"exp": "1764500060"}),
            json!({"exp": -1}),
            json!({"exp": 1e300}),
            json!({"nbf": "now"}),
            json!({"nbf": -1}),
            json!({"sub": null}),
            json!({"sub": 7}),
            json!({"scope": 7}),
            json!({"scope": ["orders", 7]}),
            json!({"aud": 7}),
            json!({"iss": ["a"]}),
        ] {
            assert_eq!(with(change.clone()), Err(Refusal::Unreadable), "{change}");
        }
        assert_eq!(
            judged(json!({"sub": "c-1"}), &ExpectedClaims::default()),
            Err(Refusal::Unreadable)
        );
    }

    #[test]
    fn the_scope_is_a_list_of_words() {
        let own = || Scope::Only(CustomerId::parse("c-1").unwrap());
        for (scope, granted) in [
            ("orders", Ok(own())),
            ("openid orders  email", Ok(own())),
            ("orders:any", Ok(Scope::Anyone)),
            ("orders orders:any", Ok(Scope::Anyone)),
            ("", Err(Refusal::Scope)),
            ("Orders", Err(Refusal::Scope)),
            ("orders:read", Err(Refusal::Scope)),
            ("orders,orders:any", Err(Refusal::Scope)),
        ] {
            assert_eq!(with(json!({"scope": scope})).map(|(_, scope)| scope), granted, "{scope}");
        }
    }

    #[test]
    fn refunds_need_a_scope_of_their_own() {
        for (scope, may_refund) in [
            ("orders", Some(false)),
            ("orders orders:refund", Some(true)),
            ("orders:any", Some(true)),
            ("orders:refund", None),
        ] {
            let claims = json!({"sub": "c-1", "exp": NOW + 60, "scope": scope});
            let claims: Claims = serde_json::from_value(claims).unwrap();
            let now = Timestamp::from_micros(NOW * 1_000_000);
            let granted = claims.grant(&ExpectedClaims::default(), now);
            assert_eq!(granted.ok().map(|grant| grant.may_refund), may_refund, "{scope}");
        }
    }

    #[test]
    fn who_can_be_no_customer_sees_everything_or_nothing() {
        let (sub, scope) = with(json!({"sub": "svc|1", "scope": "orders:any"})).unwrap();
        assert_eq!((sub.as_str(), scope), ("svc|1", Scope::Anyone));
        for sub in ["", &"x".repeat(256)] {
            assert_eq!(with(json!({"sub": sub})), Err(Refusal::Subject));
        }
    }

    #[test]
    fn a_subject_of_any_issuer_is_one_customer_or_nobody() {
        let customer = |sub: &str| match with(json!({"sub": sub})) {
            Ok((_, Scope::Only(customer))) => Ok(customer.as_str().to_owned()),
            Ok((_, Scope::Anyone)) => panic!("{sub}"),
            Err(refusal) => Err(refusal),
        };
        for (sub, known_as) in [
            ("c-1", "c-1"),
            ("first.last", "first.last"),
            ("a..b", "a..b"),
            ("auth0|5f7c", "auth0..7C5f7c"),
            ("a@b.example", "a..40b.example"),
        ] {
            assert_eq!(customer(sub), Ok(known_as.to_owned()));
        }
        for nobody in
            ["auth0..7C5f7c", "..", &"x".repeat(65), &"|".repeat(17), "юля@б.рф | юля@б.рф"]
        {
            assert_eq!(customer(nobody), Err(Refusal::NoCustomer), "{nobody}");
        }
    }

    #[test]
    fn scopes_may_be_written_as_a_list() {
        let own = Scope::Only(CustomerId::parse("c-1").unwrap());
        for (scope, granted) in [
            (json!(["orders"]), Ok(own)),
            (json!(["email", "orders:any"]), Ok(Scope::Anyone)),
            (json!(["orders orders:any"]), Err(Refusal::Scope)),
            (json!([]), Err(Refusal::Scope)),
        ] {
            assert_eq!(with(json!({"scope": scope})).map(|(_, scope)| scope), granted, "{scope}");
        }
    }

    #[test]
    fn what_is_expected_must_be_there() {
        let expected = ExpectedClaims {
            issuer: Some("https://id".into()),
            audience: Some("orders-api".into()),
        };
        for (iss, aud, counts) in [
            (json!("https://id"), json!("orders-api"), Ok(())),
            (json!("https://id"), json!(["x", "orders-api"]), Ok(())),
            (json!("https://id"), json!(["x"]), Err(Refusal::Audience)),
            (json!("https://id"), json!(null), Err(Refusal::Audience)),
            (json!("https://id/"), json!("orders-api"), Err(Refusal::Issuer)),
            (json!(null), json!("orders-api"), Err(Refusal::Issuer)),
        ] {
            let claims =
                json!({"sub": "c-1", "exp": NOW, "scope": "orders", "iss": iss, "aud": aud});
            assert_eq!(judged(claims.clone(), &expected).map(drop), counts, "{claims}");
        }
    }
}
