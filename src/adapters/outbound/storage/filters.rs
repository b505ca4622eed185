//! Lists with optional filters. Each filter is a term of its own, so that the database sees which
//! index fits; parameters keep their numbers whichever terms are there.

use crate::adapters::outbound::storage::rows::write;
use crate::core::domain::ids::OrderId;
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::task::TaskState;
use crate::core::ports::order_repository::{OrderQuery, OrderSort, Scope};
use crate::core::ports::task_queue::TaskQuery;
use uuid::Uuid;

/// The only customer whose rows may be read.
pub fn only_customer(scope: &Scope) -> Option<String> {
    match scope {
        Scope::Anyone => None,
        Scope::Only(customer) => Some(customer.as_str().to_owned()),
    }
}

/// A condition on the order of that id: a list leaves out what a newer version keeps at a payment system
/// that this one does not know. One look at the order's own registrations, and never a join with all.
fn known_here(order_id: &str) -> String {
    let words = Provider::ALL.map(|provider| format!("'{provider}'")).join(", ");
    format!(
        "(SELECT count(*) FROM registrations x \
         WHERE x.order_id = {order_id} AND x.provider NOT IN ({words})) = 0"
    )
}

#[derive(Debug)]
pub struct OrderFilter {
    /// `$1`
    pub customer: Option<String>,
    /// `$2`: one; several stand in the statement, whose forms are few.
    pub status: Option<&'static str>,
    statuses: Vec<&'static str>,
    /// `$3`, `$4`
    pub after: Option<(i64, Uuid)>,
    /// `$5`
    pub limit: i64,
    /// `$6`, `$7`
    pub created: (Option<i64>, Option<i64>),
    /// `$8`
    pub updated_since: Option<i64>,
    /// `$9`: a JSON array.
    pub ids: Option<String>,
    /// `$10`
    pub external_id: Option<String>,
    sort: OrderSort,
}

impl OrderFilter {
    /// `None` when the scope excludes what is asked for.
    pub fn new(query: &OrderQuery, scope: &Scope) -> Option<Self> {
        let customer = match (scope, &query.customer_id) {
            (Scope::Anyone, asked) => asked.as_ref(),
            (Scope::Only(own), Some(asked)) if own != asked => return None,
            (Scope::Only(own), _) => Some(own),
        };
        Some(Self {
            customer: customer.map(|id| id.as_str().to_owned()),
            status: if let [one] = query.statuses[..] { Some(one.as_str()) } else { None },
            statuses: query.statuses.iter().map(|status| status.as_str()).collect(),
            after: query.after.map(|(at, id)| (at.micros(), id.uuid())),
            limit: i64::try_from(query.limit).unwrap_or(i64::MAX),
            created: (
                query.created.0.map(Timestamp::micros),
                query.created.1.map(Timestamp::micros),
            ),
            updated_since: query.updated_since.map(Timestamp::micros),
            ids: query
                .ids
                .as_ref()
                .map(|ids| write(&ids.iter().map(ToString::to_string).collect::<Vec<_>>())),
            external_id: query.external_id.as_ref().map(|id| id.as_str().to_owned()),
            sort: query.sort,
        })
    }

    /// `select` reads from `orders o`; `id` is how the database writes the fourth parameter, `ids` the ids
    /// of the ninth.
    pub fn sql(&self, select: &str, id: &str, ids: &str) -> String {
        let mut sql = format!("{select} WHERE {}", known_here("o.id"));
        if self.customer.is_some() {
            sql += " AND o.customer_id = $1";
        }
        if self.status.is_some() {
            sql += " AND o.status = $2";
        }
        if self.statuses.len() > 1 {
            sql += &format!(" AND o.status IN ('{}')", self.statuses.join("', '"));
        }
        if self.ids.is_some() {
            sql += &format!(" AND o.id IN ({ids})");
        }
        if self.external_id.is_some() {
            sql += " AND o.external_id = $10";
        }
        if self.created.0.is_some() {
            sql += " AND o.created_at >= $6";
        }
        if self.created.1.is_some() {
            sql += " AND o.created_at < $7";
        }
        if self.updated_since.is_some() {
            sql += " AND o.updated_at >= $8";
        }
        let (time, follows, direction) = match self.sort {
            OrderSort::NewestFirst => ("created_at", "<", "DESC"),
            OrderSort::OldestFirst => ("created_at", ">", "ASC"),
            OrderSort::LongestUnchangedFirst => ("updated_at", ">", "ASC"),
        };
        if self.after.is_some() {
            sql += &format!(" AND (o.{time}, o.id) {follows} ($3, {id})");
        }
        sql + &format!(" ORDER BY o.{time} {direction}, o.id {direction} LIMIT $5")
    }
}

#[derive(Debug)]
pub struct TaskFilter {
    /// `$1`
    pub state: Option<&'static str>,
    /// `$2`, `$3`
    pub after: Option<(i64, i64)>,
    /// `$4`
    pub limit: i64,
    /// `$5`
    pub order: Option<Uuid>,
}

impl TaskFilter {
    pub fn new(query: &TaskQuery) -> Self {
        Self {
            state: query.state.map(|state| state.as_str()),
            after: query.after.map(|(at, id)| (at.micros(), id.get())),
            limit: i64::try_from(query.limit).unwrap_or(i64::MAX),
            order: query.order.map(OrderId::uuid),
        }
    }

    /// `select` reads from `tasks t` and has a condition already; `order` is how the database writes the
    /// fifth parameter.
    pub fn sql(&self, select: &str, order: &str) -> String {
        let mut sql = format!("{select} AND {}", known_here("t.order_id"));
        if self.state.is_some() {
            sql += " AND t.state = $1";
        }
        if self.state == Some(TaskState::Review.as_str()) {
            sql += " AND t.settled_at IS NULL";
        }
        if self.order.is_some() {
            sql += &format!(" AND t.order_id = {order}");
        }
        if self.after.is_some() {
            sql += " AND (t.created_at, t.id) < ($2, $3)";
        }
        sql + " ORDER BY t.created_at DESC, t.id DESC LIMIT $4"
    }
}
