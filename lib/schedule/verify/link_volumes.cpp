#include "schedule/verify/link_volumes.hpp"

#include "schedule/transfer_runs.hpp"
#include "schedule/volumes/volumes.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

Tier tier_of(const spec::Home& home) {
    return home.nvme > 0 ? Tier::nvme : home.host > 0 ? Tier::host : Tier::device;
}

std::int64_t& at(BytesByLink& bytes, Link link) {
    return bytes[link];
}

/// Adds the traffic of moving `bytes` of one state kind of a unit `times` from their home to their
/// user.
void fetch(BytesByLink& sum, Tier home, Tier user, std::int64_t bytes, std::int64_t times) {
    at(sum, Link::nvme_read) += home == Tier::nvme ? times * round_up_to_page(bytes) : 0;
    at(sum, Link::host_to_device) += user == Tier::device && home != Tier::device ? times * bytes : 0;
    at(sum, Link::device_to_host) += user == Tier::host && home == Tier::device ? times * bytes : 0;
}

/// Adds the traffic of the opposite direction.
void take_home(BytesByLink& sum, Tier home, Tier user, std::int64_t bytes, std::int64_t times) {
    at(sum, Link::nvme_write) += home == Tier::nvme ? times * round_up_to_page(bytes) : 0;
    at(sum, Link::device_to_host) += user == Tier::device && home != Tier::device ? times * bytes : 0;
    at(sum, Link::host_to_device) += user == Tier::host && home == Tier::device ? times * bytes : 0;
}

/// Adds the traffic of gradients.
///
/// The reduced shard of each micro-batch is made by the device or the host, and accumulated at home. For
/// NVMe, the path goes through host memory.
///
/// \param accumulations  number of times that the accumulator is written; it is read one time less
void add_gradients(BytesByLink& sum,
                   Tier maker,
                   Tier home,
                   Tier updater,
                   std::int64_t trained,
                   std::int64_t width,
                   std::int64_t microbatches,
                   std::int64_t accumulations) {
    if (maker == Tier::device && home != Tier::device) {
        at(sum, Link::device_to_host) += microbatches * 4 * trained;
    }
    if (home == Tier::nvme) {
        at(sum, Link::nvme_write) += accumulations * round_up_to_page(width * trained);
        at(sum, Link::nvme_read) += (accumulations - 1) * round_up_to_page(width * trained);
    }
    fetch(sum, home, updater, width * trained, 1);
}

/// Returns the leases of a unit that the device uses: all, or those of a tied head.
std::int64_t leases_on_device(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    const auto all = leases_per_step(spec, model, unit);
    const auto passes = leases_per_microbatch(spec, model, unit);
    const auto lookups = model.stays_on_host(unit) && model.stage == 0 ? 1 : 0;
    return passes == 0 ? 0 : all / passes * (passes - lookups);
}

/// Returns the bytes of the gradient of a table that a tied head forms on the device for the host.
std::int64_t gradient_bytes_of_head(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    const bool is_table_trained = model.table.units[unit].parameters.front().is_trained;
    const bool is_formed = model.stays_on_host(unit) && spec.model.tie_embeddings &&
                           model.stage == model.head_stage && is_table_trained;
    return is_formed ? 4 * model.flats[unit].parameter(0).size() : 0;
}

/// True if backward of the unit reads older versions of its parameters; lookups read none.
bool has_stashes(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    return model.table.units[unit].kind == layout::UnitKind::layer && model.trains(unit) &&
           spec::weight_versions(spec, model.stage).stashes() > 0;
}

}  // namespace

BytesByPayload link_volumes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    const std::int64_t width = spec::element_bytes(spec.precision.compute);
    const bool has_master = model.has_master();
    const std::int64_t microbatches = spec.train.micro_batches;
    // By layer, sums over micro-batches follow each other. The first gradient is summed over ranks to its
    // home, unless the accumulator is narrow.
    const std::int64_t accumulations = !spec.train.is_by_layer()                     ? microbatches
                                       : spec.precision.gradient == spec::DType::f32 ? 2
                                                                                     : 1;

    BytesByPayload sums{};
    auto& of_parameters = sums[PayloadKind::parameters];
    auto& of_gradients = sums[PayloadKind::gradients];
    auto& of_optimizer = sums[PayloadKind::optimizer];
    for (const UnitId unit : model.units) {
        const std::size_t u = unit;
        const bool is_for_host = model.stays_on_host(unit);
        const auto home_of = [&](const spec::Home& home) {
            const auto tier = tier_of(home);
            return is_for_host && tier == Tier::device ? Tier::host : tier;
        };
        const auto parameters = home_of(spec.tiers.parameters);
        const auto gradients = home_of(spec.tiers.gradients);
        const auto optimizer = home_of(spec.tiers.optimizer);
        const auto updater = optimizer == Tier::device ? Tier::device : Tier::host;
        const auto held = model.held(unit).size() / spec.parallel.data;
        const auto trained = model.trains(unit) ? model.shards[u].padded_elements() / spec.parallel.data : 0;
        const auto leases = leases_on_device(spec, model, unit);
        const auto lookups = leases_per_step(spec, model, unit) - leases;
        for (const auto elements : {trained, held - trained}) {
            fetch(of_parameters, parameters, Tier::device, width * elements, leases);
            fetch(of_parameters, parameters, Tier::host, width * elements, lookups);
        }
        if (!has_master) {
            fetch(of_parameters, parameters, updater, width * trained, 1);
        }
        take_home(of_parameters, parameters, updater, width * trained, 1);
        if (has_stashes(spec, model, unit)) {
            const auto copier = parameters == Tier::device ? Tier::device : Tier::host;
            fetch(of_parameters, parameters, copier, width * trained, 1);
            take_home(of_parameters, parameters, copier, width * trained, 1);
        }
        at(of_gradients, Link::device_to_host) += microbatches * gradient_bytes_of_head(spec, model, unit);
        add_gradients(of_gradients, is_for_host ? Tier::host : Tier::device, gradients, updater, trained,
                      element_bytes(spec.precision.gradient), microbatches, accumulations);
        for (const bool is_present : {true, true, has_master, spec.train.average.is_on()}) {
            fetch(of_optimizer, optimizer, updater, is_present ? 4 * trained : 0, 1);
            take_home(of_optimizer, optimizer, updater, is_present ? 4 * trained : 0, 1);
        }
        if (model.masters == layout::Masters::ahead) {  // the publication
            fetch(of_optimizer, optimizer, updater, 4 * trained, 1);
            const bool is_saved_on_its_way = spec.checkpoint.every && spec.checkpoint.is_async;
            if (is_saved_on_its_way && parameters == Tier::nvme) {
                fetch(of_parameters, parameters, updater, width * trained, 1);
            }
        }
    }
    return sums;
}

std::int64_t moments_read(const Program& program) {
    std::int64_t bytes = 0;
    for (const auto& op : program.ops) {
        const bool is_planned = op.kind == OpKind::read && !op.predicate;
        for (std::size_t i = 0; is_planned && i < op.reads.size(); ++i) {
            const auto state = program.buffers.at(op.reads[i].buffer).state;
            for (const auto& run : op.reads[i].runs) {
                bytes += layout::is_zero_at_start(state) ? round_up_to_page(run.bytes) : 0;
            }
        }
    }
    return bytes;
}

}  // namespace ziggurat::schedule
