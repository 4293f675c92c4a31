#include "layout/families/attention_window.hpp"

namespace ziggurat::layout {

std::int64_t window_of_layer(const spec::Model& model, std::int64_t layer) {
    const auto interval = model.full_attention_interval;
    return interval > 0 && (layer + 1) % interval == 0 ? 0 : model.window;
}

std::int64_t reached_window(std::int64_t window, std::int64_t seq) {
    return window < seq ? window : 0;
}

std::int64_t window_in_run(const spec::RunSpec& run, std::int64_t layer) {
    return reached_window(window_of_layer(run.model, layer), run.data.seq);
}

std::int64_t num_windowed_layers(const spec::RunSpec& run) {
    const auto& model = run.model;
    const auto interval = model.full_attention_interval;
    if (reached_window(model.window, run.data.seq) == 0) {
        return 0;
    }
    return interval > 0 ? model.layers - model.layers / interval : model.layers;
}

bool has_unequal_windows(const spec::RunSpec& run) {
    const auto windowed = num_windowed_layers(run);
    return windowed > 0 && windowed < run.model.layers;
}

bool has_unequal_layers(const spec::RunSpec& run) {
    const auto& model = run.model;
    const auto interval = model.full_attention_interval;
    const bool has_two_thetas = model.window_rope_theta > 0 && model.window > 0;
    return has_unequal_windows(run) || (has_two_thetas && interval > 0 && interval <= model.layers);
}

double mean_keys(std::int64_t seq, std::int64_t window) {
    const auto tokens = static_cast<double>(seq);
    const auto reached = static_cast<double>(reached_window(window, seq));
    return reached > 0 ? reached - reached * (reached - 1) / (2 * tokens) : 0.5 * (tokens + 1);
}

}  // namespace ziggurat::layout
