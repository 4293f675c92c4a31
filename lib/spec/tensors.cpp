#include "spec/tensors.hpp"

#include "spec/tensor_pattern.hpp"

namespace ziggurat::spec {
namespace {

/// Writes the tensors of one model down.
class TensorList {
  public:
    explicit TensorList(const Model& model)
        : model_{model},
          is_gpt2_{model.family == Family::gpt2},
          query_{model.heads * model.head_dim},
          key_value_{model.kv_heads * model.head_dim} {}

    std::vector<Tensor> take() {
        add("embedding.token", model_.vocab * model_.hidden);
        if (is_gpt2_) {
            add("embedding.position", model_.max_seq * model_.hidden);
        }
        for (std::int64_t layer = 0; layer < model_.layers; ++layer) {
            ++unit_;
            prefix_ = "layers." + std::to_string(layer) + ".";
            attention();
            feed_forward();
        }
        ++unit_;
        prefix_.clear();
        norm("final_norm");
        if (!model_.tie_embeddings) {
            add("head.weight", model_.vocab * model_.hidden);
        }
        return std::move(list_);
    }

  private:
    void add(const char* name, std::int64_t elements, bool is_joined = false) {
        list_.push_back({prefix_ + name, unit_, elements, is_joined});
    }

    void norm(const std::string& name) {
        add((name + ".gain").c_str(), model_.hidden);
        if (is_gpt2_) {
            add((name + ".bias").c_str(), model_.hidden);
        }
    }

    void attention() {
        norm("attn_norm");
        add("attention.q.weight", query_ * model_.hidden);
        add("attention.k.weight", key_value_ * model_.hidden, true);
        add("attention.v.weight", key_value_ * model_.hidden, true);
        if (is_gpt2_) {
            add("attention.q.bias", query_);
            add("attention.k.bias", key_value_, true);
            add("attention.v.bias", key_value_, true);
        }
        add("attention.out.weight", query_ * model_.hidden);
        if (is_gpt2_) {
            add("attention.out.bias", model_.hidden);
        }
    }

    void feed_forward() {
        const auto matrix = model_.hidden * model_.ffn_hidden;
        norm("mlp_norm");
        if (!is_gpt2_) {
            add("mlp.gate.weight", matrix);
            add("mlp.up.weight", matrix, true);
            add("mlp.down.weight", matrix);
            return;
        }
        add("mlp.up.weight", matrix);
        add("mlp.up.bias", model_.ffn_hidden);
        add("mlp.down.weight", matrix);
        add("mlp.down.bias", model_.hidden);
    }

    const Model& model_;
    bool is_gpt2_;
    std::int64_t query_;
    std::int64_t key_value_;
    int unit_ = 0;
    std::string prefix_;
    std::vector<Tensor> list_;
};

}  // namespace

std::vector<Tensor> tensors(const Model& model) {
    return TensorList{model}.take();
}

bool is_trained(const Train& train, std::string_view tensor) {
    return train.only.empty() || matches_any(train.only, tensor);
}

std::int64_t count_trained(const RunSpec& run) {
    std::int64_t count = 0;
    for (const auto& tensor : tensors(run.model)) {
        count += is_trained(run.train, tensor.name) ? tensor.elements : 0;
    }
    return count;
}

}  // namespace ziggurat::spec
