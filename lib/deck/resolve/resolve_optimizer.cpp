#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

void resolve_optimizer(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Optimizer& optimizer = resolution.run.optimizer;
    const auto betas = values.as<std::vector<double>>("optimizer.betas");
    optimizer.lr = values.real("optimizer.lr");
    optimizer.beta1 = betas.size() == 2 ? betas[0] : optimizer.beta1;
    optimizer.beta2 = betas.size() == 2 ? betas[1] : optimizer.beta2;
    optimizer.epsilon = values.real("optimizer.eps");
    optimizer.weight_decay = values.real("optimizer.weight_decay");
    optimizer.no_decay = values.as<std::vector<std::string>>("optimizer.no_decay");
    optimizer.clip = values.is_keyword("optimizer.clip.policy", "off") ? spec::ClipPolicy::off
                     : values.is_keyword("optimizer.clip.policy", "previous_norm")
                         ? spec::ClipPolicy::previous_norm
                     : values.is_keyword("optimizer.clip.policy", "per_unit") ? spec::ClipPolicy::per_unit
                                                                              : spec::ClipPolicy::global;
    optimizer.clip_norm = values.real("optimizer.clip.norm");
    if (optimizer.clip == spec::ClipPolicy::off) {
        resolution.erase_default("optimizer.clip.norm");
    }
}

}  // namespace ziggurat::deck
