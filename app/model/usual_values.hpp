/// Usual hyperparameters of a job, each with its reason.
#pragma once

#include <cstdint>
#include <string_view>

namespace ziggurat::app {

/// A value of the deck, and the comment that the deck has above it.
struct UsualValue {
    const char* value;
    const char* reason;
};

/// Values that do not depend on the data. Texts are in deck syntax.
struct UsualValues {
    const char* job;      ///< keyword
    const char* trained;  ///< comment at the beginning of the deck: what is trained, on what
    const char* records;  ///< comment above data.train if its source has records
    std::int64_t epochs;
    const char* epochs_reason;
    int batch;  ///< sequences; 0: batch_tokens
    int batch_tokens;
    const char* batch_reason;
    double held_out;  ///< share of the data
    UsualValue lr, adam, warmup, end;
    const char* train_keys;  ///< additional lines of `train`, with comments; may be empty
    bool takes_records, takes_tokens;
};

/// Returns the values of a job: chat, lora, dpo or pretrain.
const UsualValues& usual_values_of(std::string_view job);

}  // namespace ziggurat::app
