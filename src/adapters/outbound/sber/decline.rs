//! Why a payer's bank said no, read from the bank's action codes. The bank's words change with the
//! language and are never looked at; a code that is not in the table is [`Decline::Other`].

use crate::core::payment::registration::Decline;

/// ISO 8583 (1993): the card, its holder or the shop is over a limit; negative ones are the gateway's own.
const LIMITS: [i64; 4] = [121, 123, -2002, -20010];
/// Suspected, or the card is known as lost or stolen; the gateway's lists of cards and addresses.
const FRAUD: [i64; 6] = [102, 202, 208, 209, -2000, -2001];
/// 3-D Secure ended without the holder's yes.
const AUTHENTICATION: [i64; 8] = [-2005, -2006, -2011, -2016, -2017, -2018, -2019, -2020];
/// Insufficient funds.
const FUNDS: [i64; 1] = [116];

pub(super) fn reason(action: Option<i64>) -> Decline {
    let table = [
        (&FUNDS[..], Decline::InsufficientFunds),
        (&LIMITS, Decline::LimitExceeded),
        (&FRAUD, Decline::FraudSuspected),
        (&AUTHENTICATION, Decline::AuthenticationFailed),
    ];
    let known = action.and_then(|action| table.iter().find(|(codes, _)| codes.contains(&action)));
    known.map_or(Decline::Other, |(_, decline)| *decline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_word_and_an_unknown_one_is_other() {
        for (action, expected) in [
            (Some(116), Decline::InsufficientFunds),
            (Some(121), Decline::LimitExceeded),
            (Some(208), Decline::FraudSuspected),
            (Some(-2006), Decline::AuthenticationFailed),
            (Some(101), Decline::Other),
            (Some(-2013), Decline::Other),
            (None, Decline::Other),
        ] {
            assert_eq!(reason(action), expected, "{action:?}");
        }
    }
}
