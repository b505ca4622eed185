//! The sums that Sber tells about an order, each compared with the others: a part is not the whole, and
//! what is told in a way that makes no sense is not taken for nothing.

use crate::adapters::outbound::told::Told;
use crate::core::domain::money::Money;
use crate::core::ports::payment::ReportedStatus;

/// ISO 4217's number for the rouble, the only currency that the gateway takes.
pub(super) const ROUBLE: i64 = 643;

/// One sum as it was told, in whole kopecks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    Untold,
    Exact(Money),
    /// A fraction of a kopeck, less than nothing, another currency, or no number.
    Nonsense,
}

impl Sum {
    pub(super) const fn exact(self) -> Option<Money> {
        match self {
            Self::Exact(money) => Some(money),
            Self::Untold | Self::Nonsense => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Sums {
    registered: Sum,
    approved: Sum,
    pub(super) deposited: Sum,
    pub(super) refunded: Sum,
}

impl Sums {
    pub(super) fn of(reply: &Told) -> Self {
        let roubles = reply.integer("currency") == Some(ROUBLE);
        let read = |told: Option<&Told>, name: &str| match told {
            Some(told) if told.has(name) => {
                let kopecks = told.integer(name).filter(|_| roubles);
                kopecks
                    .and_then(|kopecks| Money::rub(kopecks).ok())
                    .map_or(Sum::Nonsense, Sum::Exact)
            }
            Some(_) | None => Sum::Untold,
        };
        let info = reply
            .object("paymentAmountInfo", &["approvedAmount", "depositedAmount", "refundedAmount"]);
        Self {
            registered: read(Some(reply), "amount"),
            approved: read(info.as_ref(), "approvedAmount"),
            deposited: read(info.as_ref(), "depositedAmount"),
            refunded: read(info.as_ref(), "refundedAmount"),
        }
    }

    /// None as soon as one of the sums makes no sense. What was given back is compared elsewhere.
    pub(super) fn amount(&self) -> Option<Money> {
        let sensible = ![self.approved, self.deposited].contains(&Sum::Nonsense);
        self.registered.exact().filter(|_| sensible)
    }

    /// What was held or taken in all: of the sums that tell it the one that is not the amount, if there
    /// is one. Nothing approved says only that nothing is on hold.
    pub(super) fn taken(&self, status: ReportedStatus) -> Option<Money> {
        let approved = self.approved.exact().filter(|money| !money.is_zero());
        let told = match status {
            ReportedStatus::Held => [approved, None],
            ReportedStatus::Paid => [approved, self.deposited_in_all()],
            ReportedStatus::Pending | ReportedStatus::Over(_) | ReportedStatus::Strange => {
                return None;
            }
        };
        let mut told = told.into_iter().flatten();
        let first = told.next()?;
        let other = |sum: &Money| Some(*sum) != self.amount();
        Some(if other(&first) { first } else { told.find(other).unwrap_or(first) })
    }

    /// Whether refunds lessen the sum that was deposited is not documented: both are taken for the whole.
    fn deposited_in_all(&self) -> Option<Money> {
        let deposited = self.deposited.exact()?;
        let before = self.refunded.exact().and_then(|back| deposited.plus(back).ok());
        Some(before.filter(|before| Some(*before) == self.amount()).unwrap_or(deposited))
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::BankReply;
    use super::*;
    use crate::core::ports::payment::PaymentReport;

    /// Of 199 roubles, with these members instead.
    fn told(status: i64, changes: &[(&str, &str)]) -> PaymentReport {
        let written = |name: &str, usual| {
            let change = changes.iter().find(|(changed, _)| *changed == name);
            format!("\"{name}\":{}", change.map_or(usual, |(_, written)| *written))
        };
        let info = ["approvedAmount", "depositedAmount"].map(|name| written(name, "19900"));
        let body = format!(
            r#"{{"orderNumber":"N","orderStatus":{status},{},{},"paymentAmountInfo":{{{},{}}}}}"#,
            written("amount", "19900"),
            written("currency", "\"643\""),
            info.join(","),
            written("refundedAmount", "0"),
        );
        BankReply::parse(body.as_bytes()).unwrap().report().unwrap()
    }

    fn amount(changes: &[(&str, &str)]) -> Option<i64> {
        told(2, changes).amount.map(Money::minor)
    }

    fn taken(status: i64, changes: &[(&str, &str)]) -> Option<i64> {
        told(status, changes).taken.map(Money::minor)
    }

    #[test]
    fn money_is_told_exactly_or_not_at_all() {
        for whole in ["19900", "19900.0", "19900.00", "\"19900\""] {
            assert_eq!(amount(&[("amount", whole)]), Some(19_900), "{whole}");
        }
        assert_eq!(amount(&[("currency", "643")]), Some(19_900));
        for bad in ["199.5", "19900.001", "1.99e4", "\"199.00\"", "-1", "null", "[]"] {
            assert_eq!(amount(&[("amount", bad)]), None, "{bad}");
        }
        for bad in ["\"810\"", "null", "\"RUB\""] {
            assert_eq!(amount(&[("currency", bad)]), None, "{bad}");
        }
    }

    #[test]
    fn one_sum_that_makes_no_sense_spoils_the_amount() {
        for name in ["approvedAmount", "depositedAmount"] {
            assert_eq!(amount(&[(name, "19900.0")]), Some(19_900), "{name}");
            for bad in ["19900.5", "-1", "{}", "\"all\""] {
                assert_eq!(amount(&[(name, bad)]), None, "{name} {bad}");
            }
        }
    }

    #[test]
    fn what_was_taken_is_the_sum_that_differs() {
        assert_eq!(taken(2, &[]), Some(19_900));
        assert_eq!(taken(2, &[("depositedAmount", "10000")]), Some(10_000));
        assert_eq!(taken(2, &[("approvedAmount", "10000")]), Some(10_000));
        assert_eq!(taken(1, &[("approvedAmount", "10000")]), Some(10_000));
        assert_eq!(taken(2, &[("approvedAmount", "0")]), Some(19_900));
        assert_eq!(taken(2, &[("depositedAmount", "0")]), Some(0));
        assert_eq!(taken(2, &[("depositedAmount", "null"), ("approvedAmount", "null")]), None);
    }

    #[test]
    fn a_refund_may_lessen_what_was_deposited_or_not() {
        let refunded = ("refundedAmount", "5000");
        assert_eq!(taken(4, &[refunded]), Some(19_900));
        assert_eq!(taken(4, &[refunded, ("depositedAmount", "14900")]), Some(19_900));
        assert_eq!(taken(4, &[refunded, ("depositedAmount", "14000")]), Some(14_000));
    }

    #[test]
    fn money_for_an_order_that_nobody_paid_is_strange() {
        for status in [0, 5, 6] {
            assert_eq!(told(status, &[]).status, ReportedStatus::Strange, "{status}");
            let unpaid = told(status, &[("depositedAmount", "0")]);
            assert_ne!(unpaid.status, ReportedStatus::Strange, "{status}");
        }
    }
}
