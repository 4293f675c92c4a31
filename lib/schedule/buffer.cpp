#include "schedule/buffer.hpp"

namespace ziggurat::schedule {

int element_bytes(const Buffer& buffer) {
    return spec::element_bytes(buffer.type);
}

layout::ElementRange elements_of(const Buffer& buffer) {
    return {buffer.first_element, buffer.first_element + buffer.bytes / element_bytes(buffer)};
}

int element_bytes(BatchTensor tensor) {
    switch (tensor) {
        case BatchTensor::tokens:
        case BatchTensor::targets:
        case BatchTensor::positions:
        case BatchTensor::document_starts:
        case BatchTensor::window_starts:
        case BatchTensor::losses:
        case BatchTensor::cache_sequences:
        case BatchTensor::page_table:
        case BatchTensor::window_page_table:
            return 4;
        case BatchTensor::mask:
            return 1;
        case BatchTensor::pairs:
            return answer_rows_bytes;
        case BatchTensor::references:
            return answer_sums_bytes;
        case BatchTensor::pair_results:
            return pair_result_bytes;
        case BatchTensor::samples:
            return 8;
    }
    return 0;
}

}  // namespace ziggurat::schedule
