#include "train/report/metrics.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/clock.hpp"
#include "train/report/metrics_line.hpp"
#include "train/report/source_losses.hpp"

namespace ziggurat::train {
namespace {

/// Purpose of bytes sent between ranks, with the fields of counted and of planned bytes.
struct SentFields {
    schedule::Purpose purpose;
    std::string_view counted, planned;
};
using schedule::Purpose;
constexpr std::array<SentFields, 7> sent_fields{{
    {Purpose::parameters, "sent_parameters_B", "plan_parameters_B"},
    {Purpose::secondary, "sent_secondary_B", "plan_secondary_B"},
    {Purpose::gradients, "sent_gradients_B", "plan_gradients_B"},
    {Purpose::publication, "sent_publication_B", "plan_publication_B"},
    {Purpose::tensor, "sent_tensor_B", "plan_tensor_B"},
    {Purpose::context, "sent_context_B", "plan_context_B"},
    {Purpose::pipeline, "sent_pipeline_B", "plan_pipeline_B"},
}};

/// Link between tiers, with the fields of counted and of planned bytes.
struct LinkFields {
    schedule::Link link;
    std::string_view counted, planned;
};
using schedule::Link;
constexpr std::array<LinkFields, schedule::num_links> link_fields{{
    {Link::nvme_read, "nvme_read_B", "plan_nvme_read_B"},
    {Link::nvme_write, "nvme_written_B", "plan_nvme_written_B"},
    {Link::host_to_device, "host_to_device_B", "plan_host_to_device_B"},
    {Link::device_to_host, "device_to_host_B", "plan_device_to_host_B"},
}};

}  // namespace

Metrics::Metrics(const std::string& path, Print print)
    : print_{std::move(print)}, line_{4096}, file_{open_for_writing(path, OpenMode::append), path} {}

FileHandle Metrics::again() const {
    return FileHandle{is_open_ ? ::fcntl(file_.descriptor(), F_DUPFD_CLOEXEC, 0) : -1};
}

void Metrics::start(const RunFacts& facts) {
    fields_ = facts.fields;
    ranks_ = facts.ranks;
    peak_flops_rank_ = facts.peak.flops_of_rank;
    begin("start");
    line_.field("name", facts.name);
    line_.field("version", facts.version);
    line_.field("ranks", facts.ranks);
    line_.field("threads", facts.threads);
    line_.field("steps", facts.steps);
    line_.field("parameters", facts.parameters);
    line_.field("tokens_per_step", facts.tokens_per_step);
    line_.field("flops_per_token", facts.flops_per_token);
    if (facts.peak.flops_of_rank > 0) {
        line_.field("peak_flops_rank", facts.peak.flops_of_rank);
        line_.field("peak_source", facts.peak.source);
        line_.field("mfu_formula", mfu_formula);
    }
    if (facts.planned.is_known()) {
        line_.field("plan_step_s", facts.planned.seconds);
        line_.field("plan_bound_s", facts.planned.bound_seconds);
    }
    if (!facts.attention.empty()) {
        line_.field("attention", facts.attention);
    }
    line_.field("seed", facts.seed);
    line_.field("objective", facts.objective);
    line_.field("oom_kills", facts.oom_kills);
    line_.field("device_budget_B", facts.budget_bytes[0]);
    line_.field("host_budget_B", facts.budget_bytes[1]);
    line_.field("nvme_budget_B", facts.budget_bytes[2]);
    write();
}

void Metrics::step(const StepReport& report) {
    step_ = report.step;
    tokens_ = report.tokens;
    if (report.peak_flops_rank > peak_flops_rank_) {
        peak_flops_rank_ = report.peak_flops_rank;
        begin("peak");
        line_.field("step", report.step);
        line_.field("peak_flops_rank", peak_flops_rank_);
        write();
    }
    begin("step");
    line_.field("step", report.step);
    line_.field("tokens", report.tokens);
    line_.field("loss", report.loss);
    line_.field(report.rewards ? "loss_pairs" : "loss_tokens", report.loss_tokens);
    rewards(report.rewards);
    loss_by_source(report.loss_by_source, report.rewards.has_value());
    write_samples_by_source(report.samples_by_source, line_);
    line_.field("lr", report.lr);
    line_.field("grad_norm", report.grad_norm);
    line_.field("step_s", report.step_s);
    line_.field("tok_s", report.tok_s);
    line_.field("tok_s_rank", report.tok_s / static_cast<double>(ranks_));
    if (report.mfu) {
        line_.field("mfu", *report.mfu);
    }
    if (report.plan_bound_share) {
        line_.field("plan_bound_share", *report.plan_bound_share);
    }
    line_.field("compute_s", report.compute_s);
    for (std::size_t i = 0; i < num_stalls; ++i) {
        if (fields_.stalls[i]) {
            const auto names = names_of(static_cast<Stall>(i));
            line_.field(names.seconds_field, report.stall_s[i]);
            line_.text_or_null(names.cause_field, report.stall_cause[i]);
        }
    }
    sent(report.sent_bytes, report.planned_bytes, fields_);
    moved(report.link_bytes, report.planned_link_bytes, fields_);
    line_.field("device_peak_B", report.device_peak_bytes);
    if (fields_.host) {
        line_.field("host_peak_B", report.host_peak_bytes);
    }
    if (fields_.nvme) {
        line_.field("nvme_B", report.nvme_bytes);
    }
    line_.field("process_peak_B", report.process_peak_bytes);
    line_.field("skipped", report.skipped);
    write();
    for (const auto& [source, epoch] : report.begun_epochs) {
        begin("epoch");
        line_.field("step", report.step);
        line_.field("source", source);
        line_.field("epoch", epoch);
        write();
    }
}

void Metrics::resume(std::int64_t step) {
    step_ = step;
    begin("resume");
    line_.field("step", step);
    write();
}

void Metrics::validate(const ValidationReport& report) {
    begin("validate");
    line_.field("step", report.step);
    line_.field("tokens", report.tokens);
    line_.field("loss", report.loss);
    line_.field(report.rewards ? "loss_pairs" : "loss_tokens", report.loss_tokens);
    rewards(report.rewards);
    loss_by_source(report.loss_by_source, report.rewards.has_value());
    if (report.is_of_average) {
        line_.field("weights", "average");
    }
    if (report.average_loss) {
        line_.field("average_loss", report.average_loss);
    }
    line_.field("validate_s", report.seconds);
    write();
}

void Metrics::best(const ValidationReport& report) {
    begin("best");
    line_.field("step", report.step);
    line_.field("tokens", report.tokens);
    line_.field("loss", report.decisive_loss());
    write();
}

void Metrics::norms(std::int64_t step, std::span<const UnitNorms> units) {
    begin("norms");
    line_.field("step", step);
    for (const auto& [name, norm] : norm_kinds) {
        line_.open(name);
        for (const auto& unit : units) {
            line_.field(unit.unit, unit.*norm);
        }
        line_.close();
    }
    write();
}

void Metrics::spike(const StepReport& report) {
    begin("spike");
    line_.field("step", report.step);
    line_.field("loss", report.loss.value_or(0));
    line_.field("loss_z", report.loss_z);
    line_.field("grad_norm", report.grad_norm);
    line_.field("grad_norm_z", report.grad_norm_z);
    line_.field("skipped", report.is_skipped);
    write();
}

void Metrics::roll_back(std::int64_t step, std::int64_t from, std::int64_t next_sample) {
    begin("roll_back");
    line_.field("step", step);
    line_.field("from_step", from);
    line_.field("next_sample", next_sample);
    write();
}

void Metrics::checkpoint_begin(std::int64_t step, std::int64_t bytes, bool is_async) {
    begin("checkpoint_begin");
    line_.field("step", step);
    line_.field("bytes", bytes);
    line_.field("async", is_async);
    write();
}

void Metrics::checkpoint_end(const CheckpointReport& report) {
    begin("checkpoint_end");
    line_.field("step", report.step);
    line_.field("ok", report.is_ok);
    line_.field("bytes", report.bytes);
    line_.field("seconds", report.seconds);
    line_.field("GB_s", report.gigabytes_per_second());
    line_.field("stood_still_s", report.blocked_seconds);
    line_.text_or_null("reason", report.is_ok ? std::string_view{} : report.where);
    write();
}

void Metrics::signal(std::string_view name, int level, std::int64_t step) {
    begin("signal");
    line_.field("signal", name);
    line_.field("level", level);
    line_.field("step", step);
    write();
}

void Metrics::stop(std::string_view reason, std::int64_t step) {
    begin("stop");
    line_.field("reason", reason);
    line_.field("step", step);
    write();
}

void Metrics::end(const RunEnd& facts) {
    begin("end");
    line_.field("step", facts.step);
    line_.field("tokens", facts.tokens);
    line_.field("wall_s", facts.wall_s);
    line_.field("exit_code", facts.exit_code);
    line_.field("reason", facts.reason);
    line_.field("weights_hash", fmt::format("{:016x}", facts.weights_hash));
    sent(facts.sent_bytes, facts.planned_bytes, {});
    moved(facts.link_bytes, facts.planned_link_bytes, {});
    write(facts.exit_code);
    is_open_ = false;
    print_message(file_.rest());
}

void Metrics::lost_end(const LostEnd& end) {
    constexpr const char* event = "crash";
    const auto line =
        text_of(EndLine{.event = event, .time = end.time, .step = end.step, .reason = end.reason});
    print_message(file_.write(line));
    if (hook_ != nullptr) {
        hook_->add(event, line);
    }
}

void Metrics::warning(std::string_view text) {
    begin("warning");
    line_.field("step", step_.load());
    line_.field("text", text);
    write();
}

bool Metrics::break_down(std::string_view reason, int exit_code) noexcept {
    if (!is_open_.exchange(false)) {
        return false;
    }
    const auto line = text_of(EndLine{.time = calendar_seconds(),
                                      .step = step_,
                                      .tokens = tokens_,
                                      .exit_code = exit_code,
                                      .reason = reason});
    const bool is_written = file_.write_last(line);
    if (hook_ != nullptr) {
        hook_->fail(line);
    }
    return is_written;
}

void Metrics::rewards(const std::optional<RewardMeans>& means) {
    if (means) {
        line_.field("reward_chosen", means->chosen);
        line_.field("reward_rejected", means->rejected);
        line_.field("reward_margin", means->margin());
        line_.field("reward_accuracy", means->accuracy);
    }
}

void Metrics::loss_by_source(std::span<const SourceLoss> losses, bool has_pairs) {
    if (losses.empty()) {
        return;
    }
    write_loss_by_source(losses, line_);
    line_.open(has_pairs ? "loss_pairs_by_source" : "loss_tokens_by_source");
    for (const auto& source : losses) {
        line_.field(source.name, source.tokens);
    }
    line_.close();
}

void Metrics::sent(const schedule::BytesByPurpose& counted,
                   const schedule::BytesByPurpose& planned,
                   const StepFields& kept) {
    for (const auto& fields : sent_fields) {
        if (kept.sent[fields.purpose]) {
            line_.field(fields.counted, counted[fields.purpose]);
            line_.field(fields.planned, planned[fields.purpose]);
        }
    }
}

void Metrics::moved(const schedule::BytesByLink& counted,
                    const schedule::BytesByLink& planned,
                    const StepFields& kept) {
    for (const auto& fields : link_fields) {
        if (kept.moved[fields.link]) {
            line_.field(fields.counted, counted[fields.link]);
            line_.field(fields.planned, planned[fields.link]);
        }
    }
}

void Metrics::begin(std::string_view event) {
    event_ = event;
    line_.begin();
    line_.field("event", event);
    line_.field("time", calendar_seconds());
}

void Metrics::write(int exit_code) {
    const std::string_view text = line_.end();
    if (hook_ != nullptr) {
        hook_->add(event_, text, exit_code);
    }
    if (!is_open_) {
        return;
    }
    print_message(file_.write(text));
}

void Metrics::print_message(const std::optional<RetriedOutput::Message>& message) const {
    if (message && print_) {
        print_(message->severity, message->text);
    }
}

}  // namespace ziggurat::train
