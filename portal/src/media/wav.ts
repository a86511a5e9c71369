/** Samples of one channel as a WAV file of 16 bits (RIFF, PCM). */
export function wav(samples: Float32Array, rate: number): Blob {
  const head = new DataView(new ArrayBuffer(44));
  const text = (at: number, word: string) => {
    for (let i = 0; i < word.length; i++) head.setUint8(at + i, word.charCodeAt(i));
  };
  const bytes = samples.length * 2;
  text(0, "RIFF");
  head.setUint32(4, 36 + bytes, true);
  text(8, "WAVEfmt ");
  head.setUint32(16, 16, true);
  head.setUint16(20, 1, true); // PCM
  head.setUint16(22, 1, true); // channels
  head.setUint32(24, rate, true);
  head.setUint32(28, rate * 2, true);
  head.setUint16(32, 2, true);
  head.setUint16(34, 16, true);
  text(36, "data");
  head.setUint32(40, bytes, true);
  const data = new DataView(new ArrayBuffer(bytes));
  samples.forEach((s, i) => {
    data.setInt16(i * 2, Math.round(Math.max(-1, Math.min(1, s)) * 32767), true);
  });
  return new Blob([head, data], { type: "audio/wav" });
}
