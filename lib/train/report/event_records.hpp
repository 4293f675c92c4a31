/// Records of TensorBoard's event files, as its own writer frames and encodes them.
///
/// A record is its length in 8 bytes, the masked CRC-32C of these, the message, and the masked CRC-32C of
/// that; numbers are little-endian. The message is an `Event` of protocol buffers.
///
/// Source: TensorBoard, tensorboard/summary/writer/record_writer.py; tensorboard/compat/proto/event.proto and
/// summary.proto.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ziggurat::train {

/// One point of a curve.
struct Scalar {
    std::string_view tag;  ///< name of the curve, grouped by what stands before its `/`
    double value = 0;      ///< kept as a float, the only type that curves have
};

/// CRC-32C (Castagnoli) of `bytes`, rotated and moved as record files have it.
std::uint32_t masked_crc32c(std::string_view bytes) noexcept;

/// First record of each file.
///
/// \param seconds  since 1970, UTC, here and below
std::string version_record(double seconds);

/// The run goes on after `step`: what earlier files say of later steps is dropped by the reader.
std::string restart_record(double seconds, std::int64_t step);

/// Values of one step, one record for all.
std::string scalars_record(double seconds, std::int64_t step, std::span<const Scalar> values);

}  // namespace ziggurat::train
