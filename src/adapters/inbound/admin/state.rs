//! What the operators' routes are served from.

use crate::adapters::inbound::admin::exposition::RenderMetrics;
use crate::adapters::inbound::http_kit::health::Readiness;
use crate::adapters::observe::log_control::LogControl;
use crate::adapters::observe::metrics::BuildInfo;
use crate::adapters::observe::service_mode::ModeWatch;
use crate::adapters::observe::storage_upkeep::{AuditLog, OrderRecords};
use crate::adapters::observe::systems::SystemControl;
use crate::core::ports::clock::Entropy;
use crate::core::use_cases::operate_tasks::OperateTasks;
use secrecy::SecretString;
use std::fmt;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

pub struct AdminState {
    pub systems: Vec<Arc<dyn SystemControl>>,
    pub operate_tasks: OperateTasks,
    pub metrics: RenderMetrics,
    /// Work that outlives its request; shutdown waits for it.
    pub detached: TaskTracker,
    pub readiness: Arc<Readiness>,
    pub entropy: Arc<dyn Entropy>,
    /// `ADMIN_TOKEN` and `ADMIN_TOKENS`, with their names; none where nobody has to show one.
    pub tokens: Vec<(String, SecretString)>,
    pub audit: Arc<dyn AuditLog>,
    pub records: Arc<dyn OrderRecords>,
    pub mode: Arc<ModeWatch>,
    pub log: Arc<dyn LogControl>,
    pub build: BuildInfo,
    /// `INSTANCE_ID`.
    pub instance: String,
}

impl fmt::Debug for AdminState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminState").field("systems", &self.systems).finish_non_exhaustive()
    }
}
