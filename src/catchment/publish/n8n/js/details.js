// What became of each note of a batch: one item to "write" or to "fail" for each that is settled, and one last item
// that says how to go on: the rest "again", the "stop" of all, or "done".
const batch = $('Batch to read').first().json;
const answer = $input.first().json.body;
const error = answer.error ?? UNREADABLE;
const wait = waitBefore(error, batch.tried);
const outcomeOf = ({ note_id, note_url }) =>
  (answer.items ?? []).find(({ id }) => id === note_id || id === note_url) ?? { success: false, error };

const settled = [];
const again = [];
let stop = null;
for (const record of batch.records) {
  const outcome = outcomeOf(record);
  if (outcome.success) {
    const meta = {
      source_keyword: record.source_keyword,
      latency_ms: outcome.latency_ms,
      retry_count: batch.tried + outcome.retry_count,
      ...(outcome.comments_error && { comments_error: outcome.comments_error.code }),
    };
    settled.push({ outcome: 'write', note: outcome.data, meta });
  } else if (wait !== null && isRetryable(outcome.error) && !isLongOff(outcome.error)) {
    again.push(record);
  } else if (stopsAll(outcome.error)) {
    // No fault of the note: it stays as it is, and the end of the execution gives it back.
    stop = outcome.error;
  } else {
    const error = { code: outcome.error.code, message: shortened(outcome.error.message) };
    settled.push({ outcome: 'fail', note_id: record.note_id, platform: record.platform, error });
  }
}

const onward = () => {
  if (stop !== null) return { outcome: 'stop', error: stop };
  if (again.length > 0) return { outcome: 'again', wait, next: { ...batch, records: again, tried: batch.tried + 1 } };
  return { outcome: 'done' };
};
return [...settled, onward()].map((json) => ({ json }));
