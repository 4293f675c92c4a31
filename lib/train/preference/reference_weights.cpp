#include "train/preference/reference_weights.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/error.hpp"
#include "layout/families/role.hpp"
#include "layout/tensors.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {
namespace {

/// Sets all second matrices of adapters to zero, so that adapters add nothing.
void turn_adapters_off(Assembly& assembly) {
    for (const auto& unit : assembly.state().model.table.units) {
        for (const auto& parameter : unit.parameters) {
            if (parameter.role == layout::Role::lora_b) {
                const std::vector<float> zeros(layout::unpadded_elements(parameter));
                assembly.set_tensor(parameter.name, zeros);
            }
        }
    }
}

}  // namespace

bool has_reference_weights(const spec::RunSpec& spec, const Resumed& resumed) {
    switch (spec.train.objective.reference) {
        case spec::ReferenceKind::start:
            return resumed.is_from_scratch();
        case spec::ReferenceKind::adapters_off:
            return resumed.is_from_scratch() && (resumed.lacks_adapters || spec.model.init_path.empty());
        case spec::ReferenceKind::path:
            return false;
    }
    return false;
}

void set_missing_values(const spec::RunSpec& spec, const Resumed& resumed, Assembly& assembly) {
    if (resumed.is_from_scratch() && spec.model.init_path.empty()) {
        assembly.set_initial_values();
    } else if (resumed.lacks_adapters) {
        assembly.set_initial_values(state::RandomTensors::adapters);
    }
}

std::string load_reference_weights(const spec::RunSpec& spec,
                                   const comm::Context& world,
                                   Assembly& assembly,
                                   Reporter& reporter,
                                   const std::string& need,
                                   const StopCheck& stop) {
    const auto& objective = spec.train.objective;
    spec::RunSpec reference = spec;
    if (objective.reference == spec::ReferenceKind::path) {
        reference.model.init_path = objective.reference_path;
        reference.model.is_init_published = objective.is_reference_published;
    }
    const auto load = [&] {
        try {
            return begin_from_scratch(reference, "", world, assembly.state(), reporter, "the reference has",
                                      stop);
        } catch (const Error& error) {
            throw Error{
                error.kind(),
                fmt::format("{} The weights of the reference (train.objective.reference) are needed: {}.",
                            error.what(), need)};
        }
    };
    const auto loaded = load();
    set_missing_values(reference, loaded, assembly);
    if (objective.reference == spec::ReferenceKind::adapters_off) {
        turn_adapters_off(assembly);
    }
    return loaded.weights_from;
}

}  // namespace ziggurat::train
