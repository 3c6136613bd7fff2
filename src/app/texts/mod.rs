//! Every word of the window, one table per language: a missing entry does not compile.

mod english;

use crate::advisor::Objective;
use crate::projection::Category;
use crate::quality::Effect;

pub use english::ENGLISH;

/// The words of one language. Names in braces are filled in by [`fill`].
#[expect(missing_docs, reason = "each entry is its own documentation")]
pub struct Texts {
    pub product: &'static str,
    pub untitled: &'static str,
    pub unsaved: &'static str,
    pub plan: &'static str,
    pub new_plan: &'static str,
    pub open_plan: &'static str,
    pub open: &'static str,
    pub type_open_path: &'static str,
    pub save_plan: &'static str,
    pub save_plan_as: &'static str,
    pub type_save_path: &'static str,
    pub save: &'static str,
    pub recent: &'static str,
    pub quit: &'static str,
    pub undo: &'static str,
    pub redo: &'static str,
    pub discard: &'static str,
    pub cancel: &'static str,
    pub replace: &'static str,
    pub switch_theme: &'static str,
    pub open_title: &'static str,
    pub save_plan_title: &'static str,
    pub save_launch_title: &'static str,
    pub model_file_title: &'static str,
    pub model_folder_title: &'static str,
    pub open_report_title: &'static str,
    pub path: &'static str,
    pub path_hint: &'static str,
    pub path_help: &'static str,
    pub type_path_help: &'static str,
    pub no_dialog: &'static str,
    pub overwrite_title: &'static str,
    pub overwrite_help: &'static str,
    pub unsaved_title: &'static str,
    pub unsaved_help: &'static str,
    pub saved: &'static str,
    pub copied: &'static str,
    pub report_opened: &'static str,
    pub beside_path: &'static str,
    pub add_beside: &'static str,
    pub add_beside_help: &'static str,
    pub beside: &'static str,
    pub beside_help: &'static str,
    pub beside_failed: &'static str,
    pub remove_beside: &'static str,
    pub dropped_title: &'static str,
    pub dropped_help: &'static str,
    pub open_instead: &'static str,
    pub run_beside: &'static str,
    pub fitted: &'static str,
    pub fitted_none: &'static str,
    pub kept_settings: &'static str,
    pub close_notice: &'static str,
    pub machine: &'static str,
    pub choose_machine: &'static str,
    pub search_machines: &'static str,
    pub no_machine_found: &'static str,
    pub this_machine: &'static str,
    pub this_machine_by_hand: &'static str,
    pub simulated_machine: &'static str,
    pub simulated: &'static str,
    pub detected: &'static str,
    pub detecting: &'static str,
    pub detecting_title: &'static str,
    pub asking: &'static str,
    pub detect_again: &'static str,
    pub detect_help: &'static str,
    pub copy_report: &'static str,
    pub copy_report_help: &'static str,
    pub save_report: &'static str,
    pub save_report_help: &'static str,
    pub save_report_title: &'static str,
    pub open_report: &'static str,
    pub open_report_help: &'static str,
    pub no_gpu: &'static str,
    pub no_gpu_help: &'static str,
    pub last_card: &'static str,
    pub ram: &'static str,
    pub of_ram: &'static str,
    pub cores: &'static str,
    pub unified_memory: &'static str,
    pub gpu_number: &'static str,
    pub node_gpu_number: &'static str,
    pub compute_capability: &'static str,
    pub driver: &'static str,
    pub usage: &'static str,
    pub usage_short: &'static str,
    pub add_gpu: &'static str,
    pub search_gpus: &'static str,
    pub no_gpu_in_catalogue: &'static str,
    pub remove: &'static str,
    pub count_of: &'static str,
    pub vram: &'static str,
    pub vram_of: &'static str,
    pub in_use: &'static str,
    pub in_use_of: &'static str,
    pub total: &'static str,
    pub free_row: &'static str,
    pub ram_total: &'static str,
    pub ram_in_use: &'static str,
    pub processor_alone: &'static str,
    pub model: &'static str,
    pub choose_model: &'static str,
    pub choose_a_model: &'static str,
    pub search_models: &'static str,
    pub no_model_found: &'static str,
    pub reading_model: &'static str,
    pub open_model_file: &'static str,
    pub open_model_file_help: &'static str,
    pub open_model_folder: &'static str,
    pub open_model_folder_help: &'static str,
    pub draft: &'static str,
    pub draft_help: &'static str,
    pub no_draft: &'static str,
    pub other_vocabulary: &'static str,
    pub remove_draft: &'static str,
    pub draft_failed: &'static str,
    pub parameters_active: &'static str,
    pub layers: &'static str,
    pub tokens: &'static str,
    pub engine: &'static str,
    pub quantization: &'static str,
    pub offload: &'static str,
    pub load: &'static str,
    pub advanced: &'static str,
    pub margin: &'static str,
    pub margin_help: &'static str,
    pub margin_reset: &'static str,
    pub experts_in_all: &'static str,
    pub experts_of: &'static str,
    pub experts_of_all: &'static str,
    pub experts_help: &'static str,
    pub expert_price: &'static str,
    pub expert_price_speed: &'static str,
    pub reset: &'static str,
    pub pin: &'static str,
    pub unpin: &'static str,
    pub pin_help: &'static str,
    pub pinned_help: &'static str,
    pub automatic: &'static str,
    pub by_hand: &'static str,
    pub on: &'static str,
    pub off: &'static str,
    pub fits_up_to: &'static str,
    pub fits_up_to_help: &'static str,
    pub fits_at_no_value: &'static str,
    pub tab_memory: &'static str,
    pub tab_curves: &'static str,
    pub tab_options: &'static str,
    pub fit: &'static str,
    pub fit_help: &'static str,
    pub objectives_help: &'static str,
    pub unpin_all: &'static str,
    pub unpin_all_help: &'static str,
    pub pinned_menu_help: &'static str,
    pub unpin_and_fit: &'static str,
    pub make_it_fit: &'static str,
    pub pinned_count: &'static str,
    pub take: &'static str,
    pub searching: &'static str,
    pub chose: &'static str,
    pub chose_nothing_new: &'static str,
    pub gave_up: &'static str,
    pub other_choices: &'static str,
    pub best: &'static str,
    pub chosen: &'static str,
    pub users: &'static str,
    pub one_user: &'static str,
    pub some_users: &'static str,
    pub context: &'static str,
    pub weights: &'static str,
    pub speed_column: &'static str,
    pub cache_column: &'static str,
    pub layers_column: &'static str,
    pub experts_column: &'static str,
    pub gives_up: &'static str,
    pub all_on_gpu: &'static str,
    pub part_on_gpu: &'static str,
    pub experts_in_ram: &'static str,
    pub cache_in: &'static str,
    pub options_help: &'static str,
    pub no_options: &'static str,
    pub fits: &'static str,
    pub tight: &'static str,
    pub exceeds: &'static str,
    pub refused: &'static str,
    pub unjudged: &'static str,
    pub unjudged_help: &'static str,
    pub fits_with: &'static str,
    pub tight_with: &'static str,
    pub tight_by_fit: &'static str,
    pub exceeds_by: &'static str,
    pub while_at_load: &'static str,
    pub file_figures: &'static str,
    pub per_token: &'static str,
    pub longest_context: &'static str,
    pub longest_context_kept: &'static str,
    pub decode: &'static str,
    pub decode_all: &'static str,
    pub prefill: &'static str,
    pub first_token: &'static str,
    pub loading: &'static str,
    pub speed_help: &'static str,
    pub decode_help: &'static str,
    pub decode_all_help: &'static str,
    pub prefill_help: &'static str,
    pub first_token_help: &'static str,
    pub loading_help: &'static str,
    pub seconds: &'static str,
    pub minutes: &'static str,
    pub evidence_perplexity: &'static str,
    pub evidence_divergence: &'static str,
    pub evidence_points: &'static str,
    pub evidence_help: &'static str,
    pub no_evidence: &'static str,
    pub free: &'static str,
    pub over: &'static str,
    pub of: &'static str,
    pub of_help: &'static str,
    pub usable_help: &'static str,
    pub usable_all_help: &'static str,
    pub in_use_by_others: &'static str,
    pub taken_by_plan: &'static str,
    pub kept_help: &'static str,
    pub load_line: &'static str,
    pub fits_help: &'static str,
    pub tight_help: &'static str,
    pub tight_by_fit_help: &'static str,
    pub exceeds_help: &'static str,
    pub refused_help: &'static str,
    pub figures_help: &'static str,
    pub gib: &'static str,
    pub while_loading: &'static str,
    pub while_running: &'static str,
    pub moments_help: &'static str,
    pub decides: &'static str,
    pub by_others: &'static str,
    pub this_plan: &'static str,
    pub in_use_help: &'static str,
    pub empty_title: &'static str,
    pub empty_help: &'static str,
    pub empty_help_one: &'static str,
    pub empty_help_many: &'static str,
    pub empty_help_no_gpu: &'static str,
    pub choose_a_model_button: &'static str,
    pub model_failed: &'static str,
    pub machine_failed: &'static str,
    pub no_report: &'static str,
    pub device: &'static str,
    pub capacity: &'static str,
    pub now: &'static str,
    pub kept_free: &'static str,
    pub crossing: &'static str,
    pub crossing_at: &'static str,
    pub click_to_set: &'static str,
    pub computing: &'static str,
    pub no_curve: &'static str,
    pub launch: &'static str,
    pub launch_target: &'static str,
    pub launch_preview: &'static str,
    pub launch_empty: &'static str,
    pub launch_refused: &'static str,
    pub launch_waits: &'static str,
    pub save_launch: &'static str,
    pub save_launch_help: &'static str,
    pub copy: &'static str,
    pub copy_launch_help: &'static str,
    pub launch_options: &'static str,
    pub source_set_aside: &'static str,
    pub use_it_again: &'static str,
    pub leave_it: &'static str,
    pub model_path: &'static str,
    pub model_path_help: &'static str,
    pub repository: &'static str,
    pub repository_help: &'static str,
    pub host: &'static str,
    pub host_help: &'static str,
    pub port: &'static str,
    pub port_help: &'static str,
    pub api_key: &'static str,
    pub api_key_help: &'static str,
    pub further: &'static str,
    pub further_help: &'static str,
    pub disk: &'static str,
    pub disk_too_small: &'static str,
    pub copy_download: &'static str,
    pub copy_download_help: &'static str,
    pub drop_here: &'static str,
    pub notes: &'static str,
    pub error: &'static str,
    pub warning: &'static str,
    pub hint: &'static str,
    categories: [&'static str; Category::ALL.len()],
    objectives: [&'static str; Objective::ALL.len()],
    effects: [&'static str; 5],
}

impl Texts {
    /// What a memory category is called.
    pub fn category(&self, category: Category) -> &'static str {
        Category::ALL
            .iter()
            .zip(self.categories)
            .find(|(known, _)| **known == category)
            .map_or("", |(_, name)| name)
    }
}

impl Texts {
    /// What an objective is called.
    pub fn objective(&self, objective: Objective) -> &'static str {
        Objective::ALL
            .iter()
            .zip(self.objectives)
            .find(|(known, _)| **known == objective)
            .map_or("", |(_, name)| name)
    }

    /// How much a format is felt.
    pub const fn effect(&self, effect: Effect) -> &'static str {
        let [indistinguishable, slight, visible, heavy, broken] = self.effects;
        match effect {
            Effect::Indistinguishable => indistinguishable,
            Effect::Slight => slight,
            Effect::Visible => visible,
            Effect::Heavy => heavy,
            Effect::Broken => broken,
        }
    }
}

/// A text with the names in braces filled in.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            text.push('{');
            rest = after;
            break;
        };
        let value = values.iter().find(|(known, _)| *known == name);
        text.push_str(value.map_or(name, |(_, value)| value));
        rest = behind;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_once() {
        assert_eq!(fill("{a} of {b}", &[("a", "{b}"), ("b", "2")]), "{b} of 2");
        assert_eq!(fill("{a", &[("a", "1")]), "{a");
        assert_eq!(fill("plain", &[]), "plain");
    }

    #[test]
    fn categories_have_names() {
        for category in Category::ALL {
            assert!(!ENGLISH.category(category).is_empty());
        }
    }
}
