import t from 'tap'
import { paceTypes, workoutTypes } from '../../server/catalogue/workouts.ts'

// Contract 2.5.
const types = `
  running, trail_running, treadmill, walking, hiking, mountaineering, cycling, mountain_biking, indoor_cycling,
  cyclocross, swimming, pool_swimming, open_water_swimming, strength_training, cardio_training, fitness_equipment,
  elliptical, rowing_machine, stair_climbing, yoga, pilates, stretching, meditation, cross_country_skiing,
  alpine_skiing, backcountry_skiing, downhill_skiing, snowboarding, snowshoeing, ice_skating, snowmobiling,
  winter_sports, snow_sports, rowing, kayaking, canoeing, paddling, stand_up_paddleboarding, surfing, kitesurfing,
  windsurfing, sailing, water_polo, wakeboarding, water_skiing, boating, water_sports, soccer, basketball, football,
  american_football, baseball, tennis, badminton, volleyball, handball, rugby, hockey, floorball, lacrosse, cricket,
  squash, table_tennis, padel, pickleball, racquetball, racket_sports, boxing, martial_arts, wrestling, fencing,
  rock_climbing, indoor_climbing, bouldering, trail_hiking, orienteering, archery, fishing, hunting, paragliding,
  parkour, golf, skating, inline_skating, skateboarding, horseback_riding, gymnastics, bowling, curling, disc_sports,
  triathlon, multisport, motorcycling, motor_sports, dance, aerobics, group_exercise, e_biking, virtual_activity,
  diving, snorkeling, walking_fitness, casual_walking, transition, team_sports, para_sports, play, wheelchair,
  recovery, gaming, chores, lifestyle, work, operations, generic, other, sport`

const withPace = `
  running, trail_running, treadmill, walking, hiking, mountaineering, trail_hiking, walking_fitness, casual_walking,
  cycling, mountain_biking, indoor_cycling, cyclocross, e_biking, swimming, pool_swimming, open_water_swimming, rowing,
  kayaking, canoeing, paddling, stand_up_paddleboarding, cross_country_skiing, backcountry_skiing, skating,
  inline_skating, ice_skating, triathlon`

const words = (text: string) => text.trim().split(/,\s+/)

t.test('the types of workouts are those of contract 2.5, in its order', async (t) => {
  t.strictSame(workoutTypes, words(types))
  t.equal(workoutTypes.length, 117)
})

t.test('pace is given for types where people cover a distance', async (t) => {
  t.strictSame([...paceTypes], words(withPace))
})
