-- Place of a source among those of one day, lower is better: that of its provider, then that of its device type
-- (contract 2.3, 2.4, 12.1).
create or replace function source_rank(provider text, device_type text) returns int8
language sql immutable parallel safe
return coalesce(array_position(
    array['apple', 'garmin', 'polar', 'suunto', 'whoop', 'fitbit', 'google_health', 'health_connect', 'oura', 'samsung',
          'sensorbio', 'strava', 'ultrahuman', 'withings'], provider), 99)::int8 * 1000
  + case
      when device_type = 'watch' then 1
      when device_type = 'band' then 2
      when device_type = 'ring' then 3
      when device_type in ('phone', 'tablet') then 4
      when device_type = 'scale' then 5
      when device_type in ('chest_strap', 'hr_sensor', 'headphones', 'head_mounted', 'glasses', 'smart_display',
                           'bp_monitor', 'glucose_meter', 'thermometer', 'sleep_monitor', 'bike_computer',
                           'fitness_machine', 'other') then 6
      else 99
    end;
