// Notes that can be read together: of one platform, with as many comments.
const { records } = $input.first().json.body.data;
const limits = new Map($('Keywords').first().json.body.data.sources.map((s) => [s.source_id, s.comments_limit]));

const batches = new Map();
for (const record of records) {
  const comments_limit = limits.get(record.source_id) ?? 0;
  const key = `${record.platform} ${comments_limit}`;
  if (!batches.has(key)) batches.set(key, { platform: record.platform, comments_limit, tried: 0, records: [] });
  batches.get(key).records.push(record);
}
return [...batches.values()].map((json) => ({ json }));
