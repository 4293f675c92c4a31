#include "train/resume/keep_companions.hpp"

#include "checkpoint/hf/companion_files.hpp"
#include "checkpoint/hf/usage_files.hpp"

namespace ziggurat::train {

void keep_companions_of_start(const spec::Model& model, const Resumed& resumed, const std::string& root) {
    if (resumed.is_own) {
        return;
    }
    if (resumed.is_from_scratch() && model.is_init_published) {
        checkpoint::hf::keep_companions(model.init_path, model.init_path, root);
        return;
    }
    const auto& source = resumed.is_from_scratch() ? resumed.weights_from : resumed.path;
    if (source.empty()) {
        return;
    }
    const auto source_root = checkpoint::hf::root_of(source);
    const auto kept = checkpoint::hf::kept_folder(source_root);
    if (checkpoint::hf::usage_keys(kept)) {
        const auto base = resumed.has_weights_of_base ? checkpoint::hf::kept_base(source_root) : "";
        checkpoint::hf::keep_companions(kept, base, root);
    }
}

}  // namespace ziggurat::train
