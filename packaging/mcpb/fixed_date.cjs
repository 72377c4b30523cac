// Loaded before `mcpb pack`, which writes the current time into the bundle: makes it the time of the release.
const time = Number(process.env.SOURCE_DATE_EPOCH) * 1000;
globalThis.Date = class extends Date {
  constructor(...values) {
    super(...(values.length === 0 ? [time] : values));
  }
};
