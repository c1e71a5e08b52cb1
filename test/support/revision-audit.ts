import type { Database } from '../../server/db/database.ts'

/** Tables of a user, by `user_id` or `source_id`: what is read of them moves the user's revision as it changes. */
export const OF_USERS = [
  ...['activity', 'data_source', 'health_score', 'kept_sum', 'meal', 'meal_nutrient', 'menstrual_cycle'],
  ...['personal_record', 'sample', 'sample_origin', 'sleep', 'sleep_part', 'sleep_stage', 'source_series', 'workout'],
]

/** Tables that order sources; they move the revision of `ranking`. */
export const OF_RANKING = ['provider_priority', 'device_type_priority']

/**
 * Tables that only hold in another form what the others say: an answer is the same whatever of it there is. And the
 * revisions themselves.
 */
export const DERIVED = [
  ...['rollup_15min', 'rollup_1hour', 'rollup_1day', 'rollup_local_day', 'rollup_dirty', 'sparse_time', 'zone_run'],
  ...['app_user', 'ranking'],
]

// A row that changes is looked at as the transaction ends; `moved` says whose revision it moved.
const AUDIT_SQL = `
  create function note_moved() returns trigger language plpgsql as $$
  begin
    perform set_config('moved.' || case tg_table_name when 'ranking' then 'ranking' else 'u' || replace(to_jsonb(new) ->> 'id', '-', '') end, '1', true);
    return null;
  end $$;
  create trigger moved after update of revision on app_user for each row execute function note_moved();
  create trigger moved after update of revision on ranking for each row execute function note_moved();

  create function audit() returns trigger language plpgsql as $$
  declare
    -- What no reader sees.
    unseen text[] := array['to_remove', 'archived_to', 'expired_to'];
    was jsonb := to_jsonb(old) - unseen;
    is_now jsonb := to_jsonb(new) - unseen;
    one jsonb := coalesce(is_now, was);
    the_source int4 := (one ->> 'source_id')::int4;
    the_time timestamptz := (one ->> 'ts')::timestamptz;
    owner uuid := coalesce((one ->> 'user_id')::uuid, (select user_id from data_source d where d.id = the_source));
  begin
    if was is not distinct from is_now then
      return null;
    end if;
    if tg_argv[0] = 'ranking' then
      if current_setting('moved.ranking', true) is distinct from '1' then
        raise exception 'ranking did not move with % of % %', tg_op, tg_table_name, one;
      end if;
      return null;
    end if;
    -- A user that is gone has no reader.
    if owner is null or not exists (select from app_user where id = owner) then
      return null;
    end if;
    -- Archived samples are not read any more; the archive moved the revision when it hid them.
    if tg_table_name = 'sample' and tg_op = 'DELETE' then
      if the_time < raw_floor() or exists (
        select from source_series k
        where k.source_id = the_source and k.series_id = (one ->> 'series_id')::int2 and k.archived @> the_time
      ) then
        return null;
      end if;
    end if;
    -- Sums from before everything that is kept are not read, either.
    if tg_table_name = 'kept_sum' and tg_op = 'DELETE' and (one ->> 'ends')::timestamptz <= rollup_floor() then
      return null;
    end if;
    if current_setting('moved.u' || replace(owner::text, '-', ''), true) is distinct from '1' then
      raise exception 'the revision did not move with % of % % -> %', tg_op, tg_table_name, was, is_now;
    end if;
    return null;
  end $$;`

/** From now on a transaction fails that changes what a reader can see of a user and does not move its revision. */
export async function auditRevisions(db: Database): Promise<void> {
  await db.pool.query(AUDIT_SQL)
  const audited = [...OF_USERS.map((table) => [table, 'user']), ...OF_RANKING.map((table) => [table, 'ranking'])]
  for (const [table, whose] of audited) {
    await db.pool.query(
      `create constraint trigger audited after insert or update or delete on ${table}
       deferrable initially deferred for each row execute function audit('${whose}')`,
    )
  }
}
